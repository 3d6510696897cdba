/** The verdict on a job: two looks, what was sampled between them, and how the wait for the memory went. */
import type { GpuUuid, Pid } from "../core/ids.ts";
import { absent, known, type Reading } from "../core/reading.ts";
import { byteChange, type Bytes, bytes, type Milliseconds, milliseconds } from "../core/units.ts";
import {
  type ChildEnd,
  type GpuDiff,
  type Handover,
  type JobDiff,
  type JobProcess,
  type Lingerer,
  type SettleEnd,
  worstVerdict,
} from "../model/diff.ts";
import type { Gpu } from "../model/gpu.ts";
import type { ProcessIdentity } from "../model/process.ts";
import type { Snapshot } from "../model/snapshot.ts";
import { remainingOf } from "./diff_account.ts";
import { type JudgedGpu, judgeGpu, whyNotTrusted } from "./diff_gpu.ts";
import { bystandersOf, type Looks } from "./diff_keepers.ts";
import { findLeftovers } from "./diff_leftovers.ts";
import type { SettleWatch } from "./diff_settle.ts";
import type { UsageTally } from "./diff_usage.ts";

/** One process that was found to be the job's. */
export interface Member extends ProcessIdentity {
  readonly name: string;
  readonly argv: Reading<readonly string[]>;
}

/** Whose the pids are that the driver listed during a job. */
export interface Membership {
  /** Found alive, with the job's child or this program among their ancestors. */
  readonly members: ReadonlyMap<Pid, Member>;
  /** New in the list and dead by the time they were looked up: nobody can say any more whose they were. */
  readonly unplaced: ReadonlySet<Pid>;
}

/** Everything that was seen of one job. */
export interface JobEvidence {
  readonly command: readonly string[];
  readonly end: ChildEnd;
  readonly hasTimedOut: boolean;
  readonly ranFor: Milliseconds;
  readonly settledFor: Milliseconds;
  readonly settleEnd: SettleEnd;
  readonly interval: Milliseconds;
  readonly tolerance: Bytes;
  /** The GPUs to judge. */
  readonly gpus: ReadonlySet<GpuUuid>;
  readonly before: Snapshot;
  readonly after: Snapshot;
  readonly tally: Pick<UsageTally, "samples" | "missed" | "processes" | "useOf">;
  readonly watch: Pick<SettleWatch, "backAt" | "rateOf">;
  readonly membership: Membership;
  /** The job's processes that lived when the second look was taken. */
  readonly alive: readonly Member[];
  readonly notes: readonly string[];
}

/** Judges a job. */
export function diffJob(evidence: JobEvidence): JobDiff {
  const { before, after, alive, tally } = evidence;
  const isJobs = whoseTest(evidence);
  const judged = before.gpus.filter(({ gpu }) => evidence.gpus.has(gpu.uuid))
    .map(({ gpu }) => diffGpu(gpu, evidence, isJobs));
  const leftovers = findLeftovers(judged.flatMap(({ judgedGpu }) => judgedGpu ?? []), { after, isJobs });
  const holding = new Set(leftovers.map(({ holder }) => holder.pid));
  const { command, end, hasTimedOut, ranFor, settledFor, settleEnd, interval, notes } = evidence;
  return {
    takenAt: before.takenAt,
    source: before.source,
    simulated: before.simulated,
    host: before.host,
    ...{ command, end, hasTimedOut, ranFor, settledFor, settleEnd, interval },
    notes: [...notes, ...bystanderNotes(judged, evidence)],
    samples: tally.samples,
    missedSamples: tally.missed,
    verdict: worstVerdict(judged.filter(({ counts }) => counts).map(({ diff }) => diff.verdict.kind)),
    gpus: judged.map(({ diff }) => diff),
    leftovers,
    processes: listProcesses(evidence),
    lingerers: alive.filter(({ pid }) => !holding.has(pid))
      .map(({ pid, startTicks, name }): Lingerer => ({ pid, startTicks, name })),
    problems: after.problems,
  };
}

/** Who may have imported memory that is listed with the job's dead, and may have nothing to do with it. */
function bystanderNotes(judged: readonly DiffedGpu[], looks: Looks): string[] {
  return judged.flatMap(({ judgedGpu }) => {
    if (judgedGpu?.verdict.kind !== "held-by-nobody-visible") return [];
    const { verdict: { listed }, gpu } = judgedGpu;
    const pids = [...new Set(listed.flatMap((pid) => bystandersOf(pid, gpu.uuid, looks)))];
    return pids.length === 0 ? [] : [
      `PID ${
        pids.join(", ")
      } had GPU ${gpu.index} mapped before the job began: whether a part of this was shared with ${
        pids.length === 1 ? "it" : "them"
      } (CUDA IPC) cannot be told.`,
    ];
  });
}

interface DiffedGpu {
  readonly diff: GpuDiff;
  readonly judgedGpu: (JudgedGpu & { readonly gpu: Gpu }) | undefined;
  /** A GPU that told nothing before the job either, and that the job was never seen on, decides nothing. */
  readonly counts: boolean;
}

function diffGpu(before: Gpu, evidence: JobEvidence, isJobs: (pid: Pid) => boolean): DiffedGpu {
  const { uuid, index, name } = before;
  const { peak, jobPeak, handovers } = evidence.tally.useOf(uuid);
  const common = { uuid, index, name, before: before.memoryUsed, peak, jobPeak };
  const wasJobs = (pid: Pid) => evidence.membership.members.has(pid) || isJobs(pid);
  const isTouched = [...evidence.tally.processes].some(([pid, uses]) => uses.has(uuid) && wasJobs(pid));
  const counts = isTouched || (before.memoryUsed.ok && whyNotTrusted(before) === undefined);
  const after = evidence.after.gpus.find(({ gpu }) => gpu.uuid === uuid)?.gpu;
  if (!after) {
    const reason = evidence.after.driver.ok
      ? absent("lost", "it is not listed any more")
      : evidence.after.driver;
    const verdict = { kind: "unknown", reason } as const;
    return {
      diff: { ...common, after: reason, left: reason, others: reason, verdict },
      judgedGpu: undefined,
      counts,
    };
  }
  const judgedGpu = judgeGpu({
    before,
    after,
    snapshots: evidence,
    tolerance: evidence.tolerance,
    isTouched,
    handovers,
    backIn: backIn(uuid, evidence),
    rate: evidence.settleEnd === "settled" ? undefined : evidence.watch.rateOf(uuid),
    isJobs,
  });
  const moved = sumOthers(judgedGpu.handovers, isJobs);
  const { account, verdict } = judgedGpu;
  const diff: GpuDiff = {
    ...common,
    after: after.memoryUsed,
    left: leftOf(judgedGpu, moved),
    others: account.others.ok ? known(byteChange(account.others.value - moved)) : account.others,
    verdict,
  };
  return { diff, judgedGpu: { ...judgedGpu, gpu: after }, counts };
}

/** What was handed over to processes that are not the job's: it is not their own use, and still what the job left. */
function sumOthers(handovers: readonly Handover[], isJobs: (pid: Pid) => boolean): number {
  return handovers.filter(({ to }) => !isJobs(to)).reduce((sum, handover) => sum + handover.bytes, 0);
}

function leftOf({ account, verdict }: JudgedGpu, moved: number): Reading<Bytes> {
  const isByTotal = verdict.kind === "released" || verdict.kind === "unchanged";
  if (!account.left.ok && !isByTotal) return account.left;
  const remaining = remainingOf(account);
  return remaining.ok ? known(bytes(remaining.value + moved)) : remaining;
}

function backIn(uuid: GpuUuid, { watch, ranFor }: JobEvidence): Reading<Milliseconds> {
  const at = watch.backAt(uuid);
  return at === undefined
    ? absent("not-reported", "the moment was not seen")
    : known(milliseconds(Math.max(0, at - ranFor)));
}

/**
 * Whose a listed pid is, at the second look. A pid that could not be placed is the job's unless those that keep its
 * memory are all other people's.
 */
function whoseTest({ membership: { members, unplaced }, after }: JobEvidence): (pid: Pid) => boolean {
  const starts = new Map(after.holders.map(({ pid, startTicks }) => [pid, startTicks]));
  const isMember = (pid: Pid) => {
    const member = members.get(pid);
    const start = starts.get(pid);
    return member !== undefined && (!start?.ok || start.value === member.startTicks);
  };
  return (pid) => {
    if (!unplaced.has(pid)) return isMember(pid);
    const keepers = after.ghosts.filter((ghost) => ghost.pid === pid).flatMap((ghost) => ghost.likelyHolders);
    return keepers.length === 0 || keepers.some((keeper) => isMember(keeper.pid));
  };
}

function listProcesses({ tally, membership: { members } }: JobEvidence): JobProcess[] {
  return [...tally.processes].flatMap(([pid, uses]): JobProcess[] => {
    const member = members.get(pid);
    if (!member) return [];
    const { startTicks, argv, name } = member;
    return [{
      pid,
      startTicks,
      argv,
      name,
      peaks: new Map([...uses].map(([uuid, { peak }]) => [uuid, peak])),
    }];
  });
}
