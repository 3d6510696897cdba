/** What changed on the GPUs between two looks: around a job that we ran, or between two snapshots. */
import type { GpuIndex, GpuUuid, Pid } from "../core/ids.ts";
import type { Absent, Reading } from "../core/reading.ts";
import type { ByteChange, Bytes, ClockTicks, Milliseconds } from "../core/units.ts";
import type { EndOutcome } from "./cleanup.ts";
import type { ProcessIdentity } from "./process.ts";
import type { Holder, Host, Problem, SourceName } from "./snapshot.ts";

/**
 * What came of one GPU's memory, worst first:
 *
 * - `held`: live processes hold what the job allocated, or what was not held before
 * - `held-by-nobody-visible`: it is still in use and nobody whom this reader can see holds it
 * - `still-releasing`: it was coming back when the wait ended
 * - `moved`: a live process took it over from one that is gone, as CUDA IPC does
 * - `grew`: the same process holds more than before
 * - `unknown`: it could not be seen; never a claim of release
 * - `changed-by-others`: other people's processes account for the change
 * - `released`: the job used it and gave it back
 * - `unchanged`: as before, and no use of it was seen
 */
export const DIFF_VERDICTS = [
  "held",
  "held-by-nobody-visible",
  "still-releasing",
  "moved",
  "grew",
  "unknown",
  "changed-by-others",
  "released",
  "unchanged",
] as const;
export type DiffVerdict = typeof DIFF_VERDICTS[number];

/** Memory that belonged to processes that are gone, and is charged to another one since. */
export interface Handover {
  readonly from: readonly Pid[];
  readonly to: Pid;
  readonly bytes: Bytes;
}

/** How fast memory came back when the wait ended. */
export interface ReleaseRate {
  readonly perSecond: Bytes;
  /** The span that the rate was measured over. */
  readonly over: Milliseconds;
  /** How long the rest takes at this rate. */
  readonly remaining: Milliseconds;
}

/** The verdict on one GPU with what belongs to it. */
export type GpuVerdict =
  | { readonly kind: "held"; readonly by: readonly Pid[] }
  | { readonly kind: "held-by-nobody-visible"; readonly listed: readonly Pid[] }
  | { readonly kind: "still-releasing"; readonly rate: ReleaseRate }
  | { readonly kind: "moved"; readonly handovers: readonly Handover[] }
  | { readonly kind: "grew"; readonly by: readonly Pid[] }
  | { readonly kind: "unknown"; readonly reason: Absent }
  | { readonly kind: "changed-by-others" }
  /** `in` is counted from the end of the job; absent where the moment was not seen. */
  | { readonly kind: "released"; readonly in: Reading<Milliseconds> }
  | { readonly kind: "unchanged" };

/** One GPU before, during and after. */
export interface GpuDiff {
  readonly uuid: GpuUuid;
  readonly index: GpuIndex;
  readonly name: Reading<string>;
  readonly before: Reading<Bytes>;
  /** Highest use of the whole GPU in any sample; absent for two snapshots. */
  readonly peak: Reading<Bytes>;
  /** Highest sum of the job's own contexts in any sample. */
  readonly jobPeak: Reading<Bytes>;
  readonly after: Reading<Bytes>;
  /** What is still in use of what came with the job, other people's changes taken out. */
  readonly left: Reading<Bytes>;
  /** What other people's processes use more than before. */
  readonly others: Reading<ByteChange>;
  readonly verdict: GpuVerdict;
}

/** A process that holds memory which was not held before, and why it is named. */
export interface Leftover {
  readonly holder: Holder;
  /** Whether it is one of the job's own processes; no other is ever ended for it. */
  readonly isJobs: boolean;
  readonly why: string;
}

/** How a child ended, as wait(2) tells it. */
export type ChildEnd =
  | { readonly kind: "exited"; readonly status: number }
  | { readonly kind: "killed"; readonly signal: number };

/** A process of the job that the driver listed. Its end may be long past. */
export interface JobProcess extends ProcessIdentity {
  readonly argv: Reading<readonly string[]>;
  /** Its short name, for when argv is absent. */
  readonly name: string;
  /** Highest use of each GPU in any sample. */
  readonly peaks: ReadonlyMap<GpuUuid, Reading<Bytes>>;
}

/** A process of the job that lives and holds no GPU memory. */
export interface Lingerer extends ProcessIdentity {
  readonly name: string;
}

export const SETTLE_ENDS = ["settled", "stalled", "limit", "interrupted", "unreadable"] as const;
/** How the wait for the memory ended. */
export type SettleEnd = typeof SETTLE_ENDS[number];

/** One leftover that was to be ended. */
export interface LeftoverAct extends ProcessIdentity {
  readonly outcome: EndOutcome;
  /** The last signal that was sent; null when none was. */
  readonly signal: string | null;
}

/** What ending the job's own leftovers brought. */
export interface Cleanup {
  readonly acts: readonly LeftoverAct[];
  /** Memory in use less than before it, over all GPUs that were read both times. */
  readonly freed: Reading<Bytes>;
  readonly took: Milliseconds;
  readonly settleEnd: SettleEnd;
}

/** A command that was run, and how it ended. */
export interface RanJob {
  readonly command: readonly string[];
  readonly end: ChildEnd;
  readonly hasTimedOut: boolean;
  readonly ranFor: Milliseconds;
}

/** One job, seen from before its start until its memory was back or did not come back. */
export interface JobDiff extends RanJob {
  /** When the look before the job was taken. */
  readonly takenAt: Reading<string>;
  readonly source: SourceName;
  readonly simulated: boolean;
  readonly host: Host;
  readonly settledFor: Milliseconds;
  readonly settleEnd: SettleEnd;
  readonly interval: Milliseconds;
  /** Samples that were read while the job ran, and those that had no answer. */
  readonly samples: number;
  readonly missedSamples: number;
  readonly verdict: DiffVerdict;
  readonly gpus: readonly GpuDiff[];
  readonly leftovers: readonly Leftover[];
  readonly processes: readonly JobProcess[];
  readonly lingerers: readonly Lingerer[];
  readonly cleanup?: Cleanup;
  /** What explains the numbers, one sentence each: a framework's habit, a gap in the samples. */
  readonly notes: readonly string[];
  readonly problems: readonly Problem[];
}

/** What can become of a context between two snapshots. */
export const CHANGE_KINDS = ["gone", "new", "grown", "shrunk"] as const;

/** One context in two snapshots of one machine, by UUID, pid and start time. */
export interface ContextChange {
  readonly kind: typeof CHANGE_KINDS[number];
  readonly gpu: GpuUuid;
  readonly pid: Pid;
  readonly startTicks: Reading<ClockTicks>;
  readonly argv: Reading<readonly string[]>;
  readonly name: string;
  readonly before: Reading<Bytes>;
  readonly after: Reading<Bytes>;
}

/** Where and when one of two snapshots was taken. */
export interface SnapshotOrigin {
  readonly name: string;
  readonly takenAt: Reading<string>;
  readonly source: SourceName;
  readonly simulated: boolean;
  readonly host: Host;
}

/** Two snapshots, compared. */
export interface SnapshotDiff {
  readonly before: SnapshotOrigin;
  readonly after: SnapshotOrigin;
  readonly verdict: DiffVerdict;
  readonly gpus: readonly GpuDiff[];
  readonly changes: readonly ContextChange[];
  readonly leftovers: readonly Leftover[];
  readonly notes: readonly string[];
  readonly problems: readonly Problem[];
}

/** The worst of some verdicts; with none at all nothing was seen. */
export function worstVerdict(verdicts: Iterable<DiffVerdict>): DiffVerdict {
  const seen = new Set(verdicts);
  return DIFF_VERDICTS.find((verdict) => seen.has(verdict)) ?? "unknown";
}
