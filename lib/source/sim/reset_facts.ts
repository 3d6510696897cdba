/** What the kernel and the services of a simulated server would say. */
import { absent, known, type Reading } from "../../core/reading.ts";
import type { KernelLog, ResetFacts } from "../../model/reset_facts.ts";
import { collectKernelLog } from "../../proc/kernel_log.ts";
import { readSimServer, type SimServer } from "./server.ts";
import type { MachineFaults } from "./reset_faults.ts";

/** A message a second, from this long after the boot: nothing else depends on it. */
const FIRST_MESSAGE_SECONDS = 60;

/**
 * Reads the facts of the simulated server in a directory.
 *
 * @throws {GpuctlError} if there is no such server, or its description is damaged
 */
export function readSimResetFacts(directory: string): ResetFacts {
  return describeFacts(readSimServer(directory));
}

/** The facts of a server, from its description alone. */
export function describeFacts({ gpus, faults: { machine } }: SimServer): ResetFacts {
  const hasDrm = machine.modules.some(({ name }) => name === "nvidia_drm");
  return {
    kernelLog: describeKernelLog(machine),
    modules: known(machine.modules),
    drmModeset: hasDrm ? known(machine.hasDrmModeset) : absent("not-supported", "nvidia_drm is not loaded"),
    platform: known(machine.platform),
    isContainer: known(machine.isContainer),
    services: known(machine.services),
    consoleGpus: known(
      new Set(gpus.filter(({ faults }) => faults.reset.hasConsole).map(({ busId }) => busId)),
    ),
    transientUnits: known(new Set()),
  };
}

/** The log that a server with these faults has. */
export function describeKernelLog(
  { kernelLog, xids }: Pick<MachineFaults, "kernelLog" | "xids">,
): Reading<KernelLog> {
  if (kernelLog === "denied") return absent("no-permission", "the kernel's log is for root alone");
  // The boot itself is the first record of a log that still reaches back to it.
  const first = kernelLog === "whole" ? 0 : 1000;
  const messages = ["Linux version", ...xids];
  const records = messages.map((message, place) =>
    `4,${first + place},${(FIRST_MESSAGE_SECONDS + place) * 1_000_000},-;${message}\n`
  );
  return known(collectKernelLog({ next: () => records.shift() }));
}
