/** The part of `gpuctl verify-isolation` that judges what runs already. */
import { isolateRunning } from "../lib/action/isolate_running.ts";
import { allowedDevices } from "../lib/analysis/allowed_devices.ts";
import { ISOLATION_ENDINGS } from "../lib/analysis/isolation.ts";
import type { Ending } from "../lib/core/errors.ts";
import type { Pid } from "../lib/core/ids.ts";
import type { World } from "../lib/world/ports.ts";
import { chooseGpus, liveSource } from "./options.ts";
import { type IsolationOptions, readLint, renderReport } from "./verify_isolation_report.ts";

/** Judges some processes by one look, reports, and gives the ending. */
export async function isolatePidsCommand(
  pids: readonly Pid[],
  options: IsolationOptions,
  world: World,
): Promise<Ending> {
  const { gpu: selectors, threshold, deadline, output } = options;
  const outcome = await isolateRunning({
    ...{ pids, threshold },
    source: liveSource(options.source, "judge what runs"),
    look: { within: deadline, withUtilization: false },
    lint: await readLint(options, world),
    allow: ({ gpus }) => allowedDevices(chooseGpus(gpus, selectors), selectors),
  }, world);
  const text = await renderReport(outcome, options);
  if (output === undefined) world.terminal.out(text);
  else world.files.writeWhole(output, text);
  return ISOLATION_ENDINGS[outcome.isolation.verdict];
}
