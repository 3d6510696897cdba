/** A diff as JSON, `gpuctl.diff/1`: one object for a job as for two snapshots. */
import { mapReading } from "../core/reading.ts";
import { formatSignal } from "../core/signals.ts";
import { quoteArguments } from "../core/text.ts";
import type {
  Cleanup,
  ContextChange,
  GpuDiff,
  JobDiff,
  JobProcess,
  Leftover,
  LeftoverAct,
  SnapshotDiff,
  SnapshotOrigin,
} from "./diff.ts";
import { encodeHolder } from "./encode.ts";
import { ReasonWriter } from "./reasons.ts";
import type {
  ContextChangeJson,
  DiffJson,
  GpuDiffJson,
  JobCleanupJson,
  JobProcessJson,
  LeftoverActJson,
  LeftoverJson,
  LingererJson,
  OriginJson,
} from "./schema/diff.ts";

type JobKey = "peakBytes" | "jobPeakBytes" | "releaseMs" | "othersBytes";

/** Keys that only a job has; null for two snapshots. */
const NO_JOB = {
  command: null,
  status: null,
  signal: null,
  timedOut: null,
  durationMs: null,
  settleMs: null,
  settleEnd: null,
  intervalMs: null,
  samples: null,
  missedSamples: null,
} as const;
const NO_JOB_ON_GPU = {
  peakBytes: null,
  jobPeakBytes: null,
  releaseMs: null,
  othersBytes: null,
} as const satisfies Pick<GpuDiffJson, JobKey>;
/** Keys that only two snapshots have; null for a job. */
const NO_SNAPSHOTS = { before: null, after: null } as const;

/** Writes a job's diff as a plain object for JSON. */
export function encodeJobDiff(diff: JobDiff): DiffJson {
  const top = new ReasonWriter("the machine");
  const encoded: Omit<DiffJson, "problems"> = {
    schema: "gpuctl.diff/1",
    kind: "job",
    takenAt: top.put(diff.takenAt, "takenAt"),
    source: diff.source,
    simulated: diff.simulated,
    command: quoteArguments(diff.command),
    status: diff.end.kind === "exited" ? diff.end.status : null,
    signal: diff.end.kind === "killed" ? formatSignal(diff.end.signal) : null,
    timedOut: diff.hasTimedOut,
    durationMs: Math.round(diff.ranFor),
    settleMs: Math.round(diff.settledFor),
    settleEnd: diff.settleEnd,
    intervalMs: diff.interval,
    samples: diff.samples,
    missedSamples: diff.missedSamples,
    ...NO_SNAPSHOTS,
    verdict: diff.verdict,
    gpus: diff.gpus.map((gpu, place) => encodeJobGpu(gpu, top.within(`gpus/${place}`, `GPU ${gpu.index}`))),
    leftovers: encodeLeftovers(diff.leftovers, top),
    processes: diff.processes.map((process, place) =>
      encodeProcess(process, top.within(`processes/${place}`, `PID ${process.pid}`))
    ),
    lingerers: diff.lingerers.map(({ pid, startTicks, name }): LingererJson => ({ pid, startTicks, name })),
    cleanup: diff.cleanup ? encodeCleanup(diff.cleanup, top.within("cleanup", "the cleanup")) : null,
    changes: [],
    notes: [...diff.notes],
  };
  return { ...encoded, problems: top.problems(diff.problems) };
}

/** Writes a comparison of two snapshots as a plain object for JSON. */
export function encodeSnapshotDiff(diff: SnapshotDiff): DiffJson {
  const top = new ReasonWriter("the snapshots");
  const { before, after } = diff;
  const encoded: Omit<DiffJson, "problems"> = {
    schema: "gpuctl.diff/1",
    kind: "snapshots",
    takenAt: top.put(after.takenAt, "takenAt"),
    source: after.source,
    simulated: before.simulated || after.simulated,
    ...NO_JOB,
    before: encodeOrigin(before, top.within("before", before.name)),
    after: encodeOrigin(after, top.within("after", after.name)),
    verdict: diff.verdict,
    gpus: diff.gpus.map((gpu, place): GpuDiffJson => ({
      ...encodeGpu(gpu, top.within(`gpus/${place}`, `GPU ${gpu.index}`)),
      ...NO_JOB_ON_GPU,
    })),
    leftovers: encodeLeftovers(diff.leftovers, top),
    processes: [],
    lingerers: [],
    cleanup: null,
    changes: diff.changes.map((change, place) =>
      encodeChange(change, top.within(`changes/${place}`, `PID ${change.pid}`))
    ),
    notes: [...diff.notes],
  };
  return { ...encoded, problems: top.problems(diff.problems) };
}

function encodeOrigin({ name, takenAt, source }: SnapshotOrigin, to: ReasonWriter): OriginJson {
  return { name, takenAt: to.put(takenAt, "takenAt"), source };
}

function encodeJobGpu(gpu: GpuDiff, to: ReasonWriter): GpuDiffJson {
  return {
    ...encodeGpu(gpu, to),
    peakBytes: to.put(gpu.peak, "peakBytes"),
    jobPeakBytes: to.put(gpu.jobPeak, "jobPeakBytes"),
    releaseMs: gpu.verdict.kind === "released"
      ? to.put(mapReading(gpu.verdict.in, Math.round), "releaseMs")
      : null,
    othersBytes: to.put(gpu.others, "othersBytes"),
  };
}

function encodeGpu(
  { uuid, index, name, before, after, left, verdict }: GpuDiff,
  to: ReasonWriter,
): Omit<GpuDiffJson, JobKey> {
  if (verdict.kind === "unknown") to.put(verdict.reason, "verdict");
  return {
    index,
    uuid,
    name: to.put(name, "name"),
    beforeBytes: to.put(before, "beforeBytes"),
    afterBytes: to.put(after, "afterBytes"),
    leftBytes: to.put(left, "leftBytes"),
    verdict: verdict.kind,
    heldBy: verdict.kind === "held" || verdict.kind === "grew" ? [...verdict.by] : [],
    movedTo: verdict.kind === "moved"
      ? verdict.handovers.map(({ from, to, bytes }) => ({ pid: to, from: [...from], bytes }))
      : [],
    releaseBytesPerSecond: verdict.kind === "still-releasing" ? verdict.rate.perSecond : null,
    releaseWindowMs: verdict.kind === "still-releasing" ? Math.round(verdict.rate.over) : null,
    remainingMs: verdict.kind === "still-releasing" ? Math.round(verdict.rate.remaining) : null,
  };
}

function encodeLeftovers(leftovers: readonly Leftover[], top: ReasonWriter): LeftoverJson[] {
  return leftovers.map(({ holder, isJobs, why }, place): LeftoverJson => ({
    ...encodeHolder(holder, top.within(`leftovers/${place}`, `PID ${holder.pid}`)),
    ofJob: isJobs,
    why,
  }));
}

function encodeProcess(
  { pid, startTicks, argv, name, peaks }: JobProcess,
  to: ReasonWriter,
): JobProcessJson {
  const onGpus = to.within("peakBytes", `PID ${pid}`);
  return {
    pid,
    startTicks,
    command: to.put(mapReading(argv, quoteArguments), "command"),
    name,
    peakBytes: Object.fromEntries([...peaks].map(([uuid, peak]) => [uuid, onGpus.put(peak, uuid)])),
  };
}

function encodeCleanup({ acts, freed, took, settleEnd }: Cleanup, to: ReasonWriter): JobCleanupJson {
  return {
    acts: acts.map(encodeAct),
    freedBytes: to.put(freed, "freedBytes"),
    tookMs: Math.round(took),
    settleEnd,
  };
}

function encodeAct({ pid, startTicks, outcome, signal }: LeftoverAct): LeftoverActJson {
  return { pid, startTicks, outcome, signal };
}

function encodeChange(
  { kind, gpu, pid, startTicks, argv, name, before, after }: ContextChange,
  to: ReasonWriter,
): ContextChangeJson {
  return {
    kind,
    gpu,
    pid,
    startTicks: to.put(startTicks, "startTicks"),
    command: to.put(mapReading(argv, quoteArguments), "command"),
    name,
    beforeBytes: to.put(before, "beforeBytes"),
    afterBytes: to.put(after, "afterBytes"),
  };
}
