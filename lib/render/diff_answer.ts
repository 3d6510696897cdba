/** What a diff comes to, in one sentence: its last line. */
import type { Pid } from "../core/ids.ts";
import { formatRanges, nameIndexes } from "../core/ranges.ts";
import { formatBytes } from "../core/units.ts";
import type { EndOutcome } from "../model/cleanup.ts";
import type { Cleanup, DiffVerdict, GpuDiff, JobDiff, SnapshotDiff } from "../model/diff.ts";
import { isSeenOnly, sumLeft, totalLeft } from "./diff_verdict.ts";

type Answer<Diff> = (gpus: readonly GpuDiff[], diff: Diff) => string;

/** The answer to the question that the job was run for. */
export function answerOfJob(diff: JobDiff): string {
  return ANSWERS[diff.verdict](diff.gpus.filter(isFound), diff);
}

const left: Answer<JobDiff> = (gpus, { cleanup }) => {
  const what = totalLeft(gpus) ?? "Memory";
  if (cleanup === undefined) return `${what} was left behind on ${nameGpus(gpus)}.`;
  return `${what} was left on ${nameGpus(gpus)}; ${describeCleanup(cleanup, gpus)}.`;
};

/** Memory that was not back when the patience was over, and not when it had stopped coming, may still come back. */
const leftOrLate: Answer<JobDiff> = (gpus, diff) =>
  diff.settleEnd === "limit" && diff.cleanup === undefined
    ? `${totalLeft(gpus) ?? "Memory"} was not back on ${
      nameGpus(gpus)
    } when the wait ended: a longer --settle tells whether it comes back.`
    : left(gpus, diff);

function describeCleanup(cleanup: Cleanup, gpus: readonly GpuDiff[]): string {
  const ended = endedPids(cleanup);
  if (ended.size === 0) return "gpuctl could not end what holds it";
  const what = `gpuctl ended PID ${formatRanges([...ended]).join(", ")}`;
  const { freed } = cleanup;
  if (!freed.ok) return `${what}, and how much came back is not known`;
  const sum = sumLeft(gpus);
  return sum !== undefined && freed.value >= sum - ROUNDING_BYTES
    ? `${what} and it came back`
    : `${what}, and ${formatBytes(freed.value)} came back`;
}

/** Who is gone since gpuctl meant to end it. */
export function endedPids(cleanup: Cleanup | undefined): ReadonlySet<Pid> {
  return new Set((cleanup?.acts ?? []).filter(({ outcome }) => GONE.includes(outcome)).map(({ pid }) => pid));
}

const GONE: readonly EndOutcome[] = ["ended", "ended-by-force", "already-gone"];
/** The driver counts in MiB, and what is freed is the difference of two sums. */
const ROUNDING_BYTES = 2 * 1024 ** 2;

/** Each is given the GPUs on which something was found. */
const ANSWERS = {
  "held": left,
  "held-by-nobody-visible": leftOrLate,
  "still-releasing": (gpus) => `Memory was still coming back on ${nameGpus(gpus)}: a longer --settle tells.`,
  "moved": (gpus) => `Memory of the job lives on in another process on ${nameGpus(gpus)}.`,
  "grew": left,
  "unknown": () => "Whether memory was left behind cannot be told.",
  "changed-by-others": (_gpus, { gpus }) =>
    gpus.every((gpu) => gpu.verdict.kind !== "changed-by-others" || isSeenOnly(gpu))
      ? "The job left no memory behind; processes still see GPUs, which costs some MiB each."
      : "The job left nothing behind; other people's processes changed meanwhile.",
  "released": () => "The job gave all its memory back.",
  "unchanged": () => "The job left nothing behind; it was not seen to use a GPU.",
} as const satisfies Record<DiffVerdict, Answer<JobDiff>>;

type SnapshotAnswer = (gpus: readonly GpuDiff[]) => string;

const held: SnapshotAnswer = (gpus) =>
  `${totalLeft(gpus) ?? "Memory"} is held that was not before, on ${nameGpus(gpus)}.`;

const SNAPSHOT_ANSWERS = {
  "held": held,
  "held-by-nobody-visible": held,
  "still-releasing": held,
  "moved": (gpus) => `Memory of a process that ended lives on in another one on ${nameGpus(gpus)}.`,
  "grew": (gpus) => `The same processes hold more than before on ${nameGpus(gpus)}${addedTo(gpus)}.`,
  "unknown": () => "Not everything could be compared.",
  "changed-by-others": () => "Only what it costs to see a GPU has changed.",
  "released": () => "Memory was given back, and nothing is held that was not before.",
  "unchanged": () => "Nothing has changed.",
} as const satisfies Record<DiffVerdict, SnapshotAnswer>;

function addedTo(gpus: readonly GpuDiff[]): string {
  const more = totalLeft(gpus);
  return more === undefined ? "" : `: ${more}`;
}

const FOUND: readonly DiffVerdict[] = ["held", "held-by-nobody-visible", "still-releasing", "moved", "grew"];

function isFound({ verdict }: GpuDiff): boolean {
  return FOUND.includes(verdict.kind);
}

function nameGpus(gpus: readonly GpuDiff[]): string {
  return nameIndexes(gpus.map(({ index }) => index));
}

/** The answer to what has changed between two snapshots. */
export function answerOfSnapshots({ verdict, gpus }: SnapshotDiff): string {
  return SNAPSHOT_ANSWERS[verdict](gpus.filter(isFound));
}
