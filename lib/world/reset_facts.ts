/** The facts that a reset is judged by: of this machine, or of a simulated server. */
import { resolve } from "node:path";
import { GpuctlError } from "../core/errors.ts";
import { type Absent, absent } from "../core/reading.ts";
import type { ResetFacts } from "../model/reset_facts.ts";
import type { LiveSource } from "../model/source_choice.ts";
import { readConsoleGpus } from "../proc/console.ts";
import { readIsContainer } from "../proc/in_container.ts";
import { readKernelLog } from "../proc/kernel_log.ts";
import { readDrmModeset, readModules } from "../proc/modules.ts";
import { readPlatform } from "../proc/platform.ts";
import { readTransientUnits } from "../proc/transient_units.ts";
import { readGpuServices } from "./gpu_services.ts";
import { SYSTEMD_PLACES, type SystemdPlaces } from "./systemd.ts";

/** Where a machine's facts are found. */
export interface FactPlaces {
  readonly root: string;
  readonly kernelLog: string;
  readonly systemd: SystemdPlaces;
}

/** This very machine. */
export const THIS_MACHINE: FactPlaces = { root: "/", kernelLog: "/dev/kmsg", systemd: SYSTEMD_PLACES };

/** Reads the facts of the machine that a source is. Never rejects: what could not be read is absent. */
export async function readResetFacts(source: LiveSource, places = THIS_MACHINE): Promise<ResetFacts> {
  if (source.kind === "sim") return await readSimulated(resolve(source.directory));
  // systemd thinks while the files are read.
  const services = readGpuServices(places.systemd);
  return { ...readMachineFacts(places), services: await services };
}

/** Reads what the kernel alone tells, which takes no time. */
export function readMachineFacts({ root, kernelLog }: FactPlaces): Omit<ResetFacts, "services"> {
  return {
    kernelLog: readKernelLog(kernelLog),
    modules: readModules(root),
    drmModeset: readDrmModeset(root),
    platform: readPlatform(root),
    isContainer: readIsContainer(root),
    consoleGpus: readConsoleGpus(root),
    transientUnits: readTransientUnits(root),
  };
}

async function readSimulated(directory: string): Promise<ResetFacts> {
  const { readSimResetFacts } = await import("../source/sim/reset_facts.ts");
  try {
    return readSimResetFacts(directory);
  } catch (error) {
    if (error instanceof GpuctlError) return nothingKnown(absent("failed", error.message));
    throw error;
  }
}

function nothingKnown(why: Absent): ResetFacts {
  return {
    kernelLog: why,
    modules: why,
    drmModeset: why,
    platform: why,
    isContainer: why,
    services: why,
    consoleGpus: why,
    transientUnits: why,
  };
}
