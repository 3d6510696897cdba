/** The half of `gpuctl diff` that runs a command. Loaded when there is one. */
import { allowedDevices, uuidOf } from "../lib/analysis/allowed_devices.ts";
import { JOB_STATUS, statusOfChild, statusOfJob } from "../lib/analysis/diff_status.ts";
import type { GpuSelector } from "../lib/analysis/select_gpus.ts";
import { type JobOptions, type JobPreparation, runJob } from "../lib/action/job.ts";
import { JobRecording } from "../lib/action/job_recording.ts";
import { type Ending, EXIT, GpuctlError } from "../lib/core/errors.ts";
import type { Bytes, Milliseconds } from "../lib/core/units.ts";
import type { JobDiff } from "../lib/model/diff.ts";
import type { Snapshot } from "../lib/model/snapshot.ts";
import type { SourceChoice } from "../lib/model/source_choice.ts";
import type { Screen, World } from "../lib/world/ports.ts";
import { notStarted, withJobStatus } from "./job_status.ts";
import { chooseGpus, liveSource } from "./options.ts";
import { tellWaits } from "./waiting.ts";

export interface DiffJobOptions {
  readonly source: SourceChoice;
  readonly gpu?: readonly GpuSelector[] | undefined;
  readonly pin?: true | undefined;
  readonly interval: Milliseconds;
  readonly settle: Milliseconds;
  readonly tolerance: Bytes;
  readonly timeout?: Milliseconds | undefined;
  readonly grace: Milliseconds;
  readonly killLeftovers?: true | undefined;
  readonly leakExitCode: number;
  readonly record?: string | undefined;
  readonly report?: string | undefined;
  readonly output?: string | undefined;
  readonly json?: true | undefined;
  readonly auditLog?: string | undefined;
  readonly deadline: Milliseconds;
}

/**
 * Runs a command, reports on it, and gives its ending.
 *
 * @throws {GpuctlError} with the status that timeout(1) and env(1) have for it
 */
export async function diffJobCommand(
  command: readonly string[],
  options: DiffJobOptions,
  world: World,
): Promise<Ending> {
  if (options.pin && options.gpu === undefined) {
    throw new GpuctlError("usage", "Cannot pin the command: --pin needs --gpu to say where", {
      hint: "gpuctl diff --gpu 1 --pin -- …",
    });
  }
  const source = liveSource(options.source, "run a command");
  return await withJobStatus(JOB_STATUS.failed, async () => {
    using runner = await world.openJobRunner();
    // What cannot be written is found out before the job has run for hours.
    for (const path of [options.output, options.report]) {
      if (path !== undefined) world.outputs.checkPlace(path);
    }
    using lines = options.record === undefined ? undefined : world.outputs.openLines(options.record);
    const recording = new JobRecording({ lines, isDrawn: options.report !== undefined });
    recording.begin(command, world.clock.now());
    const outcome = await runJob(jobOptions(command, { options, source, recording }, world), {
      ...world,
      runner,
    });
    if ("message" in outcome) throw notStarted(outcome);
    const status = statusOfChild(outcome.end);
    // A command that failed has the last word, also where its report could not be written.
    const failed = status === EXIT.ok ? JOB_STATUS.failed : status;
    await withJobStatus(failed, () => report(outcome, recording, options, world));
    return statusOfJob(outcome, options.leakExitCode);
  });
}

function jobOptions(
  command: readonly string[],
  { options, source, recording }: {
    readonly options: DiffJobOptions;
    readonly source: JobOptions["source"];
    readonly recording: JobRecording;
  },
  world: World,
): JobOptions {
  const { interval, settle, tolerance, timeout, grace } = options;
  return {
    ...{ command, source, interval, settle, tolerance, timeout, grace },
    look: { within: options.deadline, withUtilization: false },
    audit: options.killLeftovers ? world.openAuditLog(options.auditLog, source) : undefined,
    onSample: recording.add,
    onWait: tellWaits(world.terminal, options),
    prepare: (before) => prepare(before, options),
  };
}

function prepare({ gpus }: Snapshot, { gpu: selectors, pin }: DiffJobOptions): JobPreparation {
  const chosen = chooseGpus(gpus.map(({ gpu }) => gpu), selectors);
  return {
    gpus: new Set(chosen.map(({ uuid }) => uuid)),
    variables: pin
      ? {
        CUDA_VISIBLE_DEVICES: allowedDevices(chosen, selectors ?? []).map(uuidOf).join(","),
        CUDA_DEVICE_ORDER: "PCI_BUS_ID",
      }
      : {},
  };
}

async function report(
  diff: JobDiff,
  recording: JobRecording,
  options: DiffJobOptions,
  { terminal, files }: World,
): Promise<void> {
  const screen = options.output === undefined ? terminal.errorScreen : undefined;
  const text = await render(diff, options.json ?? false, screen);
  if (options.output === undefined) terminal.err(text);
  else files.writeWhole(options.output, text);
  if (options.report !== undefined && recording.series) {
    const { renderJobHtml } = await import("../lib/render/diff_html.ts");
    files.writeWhole(options.report, renderJobHtml(diff, recording.series));
  }
  if (recording.failure) throw recording.failure;
}

async function render(diff: JobDiff, asJson: boolean, screen: Screen | undefined): Promise<string> {
  if (!asJson) {
    const [{ renderJobDiff }, { optionsFor }] = await Promise.all([
      import("../lib/render/diff_text.ts"),
      import("../lib/render/screen.ts"),
    ]);
    return renderJobDiff(diff, optionsFor(screen));
  }
  const [{ encodeJobDiff }, { renderJson }] = await Promise.all([
    import("../lib/model/diff_json.ts"),
    import("../lib/render/json.ts"),
  ]);
  return renderJson(encodeJobDiff(diff));
}
