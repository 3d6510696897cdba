/** The part of `gpuctl verify-isolation` that runs a command. Loaded when there is one. */
import { isolateJob } from "../lib/action/isolate_job.ts";
import { allowedDevices, uuidOf } from "../lib/analysis/allowed_devices.ts";
import { JOB_STATUS, statusOfChild } from "../lib/analysis/diff_status.ts";
import { statusOfIsolatedJob } from "../lib/analysis/isolation_status.ts";
import { type Ending, EXIT } from "../lib/core/errors.ts";
import { type Milliseconds, milliseconds } from "../lib/core/units.ts";
import type { AllowedDevice } from "../lib/model/isolation.ts";
import type { World } from "../lib/world/ports.ts";
import { notStarted, withJobStatus } from "./job_status.ts";
import { chooseGpus, liveSource } from "./options.ts";
import { type IsolationOptions, readLint, renderReport } from "./verify_isolation_report.ts";

export interface IsolateJobCommandOptions extends IsolationOptions {
  readonly pin?: true | undefined;
  readonly timeout?: Milliseconds | undefined;
  readonly exclusive?: true | undefined;
  readonly interval?: Milliseconds | undefined;
}

/** A context may live only a moment: looks are as close as they can be without slowing the job down. */
const INTERVAL = milliseconds(100);

/**
 * Runs a command, reports where it was, and gives its ending.
 *
 * @throws {GpuctlError} with the status that timeout(1) and env(1) have for it
 */
export async function isolateJobCommand(
  command: readonly string[],
  options: IsolateJobCommandOptions,
  world: World,
): Promise<Ending> {
  const { gpu: selectors, pin, threshold, timeout, interval = INTERVAL, output } = options;
  const source = liveSource(options.source, "run a command");
  return await withJobStatus(JOB_STATUS.failed, async () => {
    using runner = await world.openJobRunner();
    // What cannot be written or read is found out before the job has run for hours.
    if (output !== undefined) world.outputs.checkPlace(output);
    const lint = await readLint(options, world);
    const outcome = await isolateJob({
      ...{ command, source, threshold, timeout, interval, lint },
      isExclusive: options.exclusive ?? false,
      look: { within: options.deadline, withUtilization: false },
      prepare: ({ gpus }) => {
        const allowed = allowedDevices(chooseGpus(gpus, selectors), selectors);
        return { allowed, variables: pin ? pinTo(allowed) : {} };
      },
    }, { ...world, runner });
    if ("message" in outcome) throw notStarted(outcome);
    const status = statusOfChild(outcome.end);
    // A command that failed has the last word, also where its report could not be written.
    const failed = status === EXIT.ok ? JOB_STATUS.failed : status;
    await withJobStatus(failed, async () => {
      const screen = output === undefined ? world.terminal.errorScreen : undefined;
      const text = await renderReport(outcome, options, screen);
      if (output === undefined) world.terminal.err(text);
      else world.files.writeWhole(output, text);
    });
    return statusOfIsolatedJob({ ...outcome, verdict: outcome.isolation.verdict });
  });
}

/** Programs take an empty value for none at all, so a job without GPUs is given an index that there is not. */
function pinTo(allowed: readonly AllowedDevice[]): Readonly<Record<string, string>> {
  return {
    CUDA_VISIBLE_DEVICES: allowed.length === 0 ? "-1" : allowed.map(uuidOf).join(","),
    CUDA_DEVICE_ORDER: "PCI_BUS_ID",
  };
}
