/**
 * Which holders may be ended. Pure: two judgements of the same machine, a pause apart, and a policy in; acts and the
 * reasons for everything that is left alone out.
 */
import type { GpuUuid, Pid } from "../core/ids.ts";
import { quoteArguments } from "../core/text.ts";
import type { Bytes, ClockTicks } from "../core/units.ts";
import { bytes } from "../core/units.ts";
import type { Reading } from "../core/reading.ts";
import type { ProcessScan } from "../model/observation.ts";
import type { ProcessIdentity } from "../model/process.ts";
import type { HolderClass } from "../model/snapshot.ts";
import type { EndingPolicy } from "./ending_policy.ts";
import type { DeadContext, Facts } from "./facts.ts";
import { findPossiblyKept } from "./ghosts.ts";
import type { JudgedHolder, Judgement } from "./judge.ts";
import { ancestorsOf } from "./lineage.ts";
import { isOutside, whyProtected } from "./protection.ts";
import { isOfNamedContainer, whyNotChosen } from "./selection.ts";

export { DEFAULT_CLASSES, type EndingPolicy, WIDENING_CLASSES } from "./ending_policy.ts";

/** A context as the driver lists it. `keepers` are the live processes that may keep it: it goes when the last has ended. */
export interface ListedRow {
  readonly gpu: GpuUuid;
  readonly pid: Pid;
  readonly used: Reading<Bytes>;
  readonly keepers: readonly Pid[];
}

/** One process to end, with all that was seen of it. */
export interface PlannedAct {
  readonly identity: ProcessIdentity;
  readonly class: HolderClass;
  readonly evidence: readonly string[];
  readonly command: string;
  /** The rows of the driver's list that should go: its own, and those of the dead that it may keep. */
  readonly frees: readonly ListedRow[];
  readonly bytesBefore: Bytes | null;
  /** Ends before its descendants do: a supervisor restarts what is ended under it. */
  readonly depth: number;
}

/** A holder that is left alone, and why. */
export interface Kept {
  readonly pid: Pid;
  readonly class: HolderClass;
  readonly why: string;
  /** Whether it is what the cleaning is about, and is left alone for now or for want of proof: it holds on. */
  readonly isSpared: boolean;
}

export interface EndingPlan {
  readonly acts: readonly PlannedAct[];
  readonly kept: readonly Kept[];
}

/** One judgement with the moment it was made, in the clock ticks that start times are counted in. */
export interface TimedJudgement {
  readonly judgement: Judgement;
  readonly scan: ProcessScan;
  readonly ticks: ClockTicks;
}

/** USER_HZ: start times and CPU times of /proc count 10 ms each (sysconf(_SC_CLK_TCK) is 100 on x86-64 and aarch64). */
export const TICK_MS = 10;
/** A process that used more than this share of a core between two looks is at work. */
const BUSY_SHARE = 0.02;

/** Plans which holders to end. Both judgements must agree on a process, or it is left alone. */
export function planEnding(first: TimedJudgement, second: TimedJudgement, policy: EndingPolicy): EndingPlan {
  const acts: PlannedAct[] = [];
  const kept: Kept[] = [];
  const seenFrom = (holder: JudgedHolder) => insideView(holder, policy);
  const before = new Map(
    first.judgement.holders.map((holder) => [holder.facts.process.pid, seenFrom(holder)]),
  );
  const keepers = findKeepers(second.judgement);
  for (const holder of second.judgement.holders.map(seenFrom)) {
    const { process } = holder.facts;
    const why = whyKept(holder, before.get(process.pid), { first, second, policy });
    if (why === undefined) acts.push(actOn(holder, second, keepers));
    else {
      const isSpared = isMeant(holder, second, policy);
      kept.push({ pid: process.pid, class: holder.verdict.class, why, isSpared });
    }
  }
  return { acts: acts.sort((a, b) => a.depth - b.depth || a.identity.pid - b.identity.pid), kept };
}

interface Frame {
  readonly first: TimedJudgement;
  readonly second: TimedJudgement;
  readonly policy: EndingPolicy;
}

/** Who names a container judges its processes as they look from inside it. */
function insideView(holder: JudgedHolder, policy: EndingPolicy): JudgedHolder {
  const { facts, verdict } = holder;
  const isSeenInside = verdict.inside && isOfNamedContainer(facts.process, policy);
  return isSeenInside ? { facts, verdict: verdict.inside } : holder;
}

/** The first reason not to end a holder; `undefined` when there is none. */
function whyKept(holder: JudgedHolder, earlier: JudgedHolder | undefined, frame: Frame): string | undefined {
  const { second: { judgement }, policy } = frame;
  // Whoever was not asked for is told that before all else: what else keeps it is of no use to the one who asked.
  return whyNotChosen(holder.facts, policy) ?? whyProtected(holder, { judgement, policy }) ??
    whyUnproven(holder, earlier, frame) ?? whyNotIdle(holder.facts, policy) ??
    whyTooSmall(holder.facts, frame);
}

/** Whether a holder is within what was asked for, left aside how old, how busy or how well seen it is. */
function isMeant(holder: JudgedHolder, { judgement }: TimedJudgement, policy: EndingPolicy): boolean {
  const { facts } = holder;
  return !isOutside(holder, { judgement, policy }) && whyNotChosen(facts, policy) === undefined &&
    whyNotIdle(facts, policy) === undefined && whyTooLittle(facts, { judgement, policy }) === undefined;
}

function whyUnproven(
  { facts, verdict }: JudgedHolder,
  earlier: JudgedHolder | undefined,
  frame: Frame,
): string | undefined {
  const { process } = facts;
  if (earlier === undefined) return "appeared between two looks";
  if (earlier.facts.process.startTicks !== process.startTicks) {
    return "another process had this pid a moment ago";
  }
  if (earlier.verdict.class !== verdict.class) return `was ${earlier.verdict.class} a moment ago`;
  const isNamed = frame.policy.pids?.has(process.pid) ?? false;
  const share = busyShare(facts, earlier.facts, frame);
  if (!isNamed && share > BUSY_SHARE) {
    return `is at work: it used ${Math.round(share * 100)} % of a core between two looks`;
  }
  return undefined;
}

function whyNotIdle({ process }: Facts, { idle }: EndingPolicy): string | undefined {
  if (idle === undefined) return undefined;
  const span = idle.spans.get(process.pid) ?? 0;
  return span < idle.for ? `has been idle for ${Math.floor(span / 1000)} s as far as is known` : undefined;
}

function whyTooSmall(facts: Facts, { second, policy }: Frame): string | undefined {
  const age = (second.ticks - facts.process.startTicks) * TICK_MS;
  const isNamed = policy.pids?.has(facts.process.pid) ?? false;
  if (!isNamed && age < policy.minAge) return `is younger than ${policy.minAge / 1000} s`;
  return whyTooLittle(facts, { judgement: second.judgement, policy });
}

function whyTooLittle(
  facts: Facts,
  { judgement, policy }: { readonly judgement: Judgement; readonly policy: EndingPolicy },
): string | undefined {
  if (policy.minBytes === 0) return undefined;
  const held = heldBytes(facts, { judgement });
  if (held === null) return "how much it holds is not known";
  return held < policy.minBytes ? "holds less than the minimum" : undefined;
}

/** Who may keep each dead context, worked out once for all acts. */
type Keepers = ReadonlyMap<DeadContext, readonly Pid[]>;

function findKeepers({ holders, owners }: Judgement): Keepers {
  const keepers = new Map<DeadContext, Pid[]>();
  for (const { facts } of holders) {
    for (const dead of findPossiblyKept(facts, owners)) {
      keepers.set(dead, [...keepers.get(dead) ?? [], facts.process.pid]);
    }
  }
  return keepers;
}

function actOn(
  { facts, verdict }: JudgedHolder,
  { judgement, scan }: TimedJudgement,
  keepers: Keepers,
): PlannedAct {
  const { process } = facts;
  const own = facts.contexts.map(({ gpu, context: { used } }) => ({
    gpu: gpu.uuid,
    pid: process.pid,
    used,
    keepers: [process.pid],
  }));
  const dead = findPossiblyKept(facts, judgement.owners).map((each) => ({
    gpu: each.gpu.uuid,
    pid: each.context.pid,
    used: each.context.used,
    keepers: keepers.get(each) ?? [],
  }));
  return {
    identity: { pid: process.pid, startTicks: process.startTicks },
    class: verdict.class,
    evidence: verdict.evidence,
    command: process.argv.ok ? quoteArguments(process.argv.value) : process.comm,
    frees: [...own, ...dead],
    bytesBefore: heldBytes(facts, { judgement }),
    depth: ancestorsOf(process, scan).length,
  };
}

/** What acts hold together: a row that several of them keep counts once. Null where one is not known. */
export function bytesOfActs(acts: readonly PlannedAct[]): Bytes | null {
  const rows = new Map(acts.flatMap(({ frees }) => frees).map((row) => [`${row.gpu} ${row.pid}`, row.used]));
  let sum = 0;
  for (const used of rows.values()) {
    if (!used.ok) return null;
    sum += used.value;
  }
  return bytes(sum);
}

/** Bytes of its own contexts and of the dead ones it keeps; null where one of them is not known. */
function heldBytes(facts: Facts, { judgement }: { readonly judgement: Judgement }): Bytes | null {
  let sum = 0;
  for (const { context } of [...facts.contexts, ...findPossiblyKept(facts, judgement.owners)]) {
    if (!context.used.ok) return null;
    sum += context.used.value;
  }
  return bytes(sum);
}

function busyShare(now: Facts, before: Facts, { first, second }: Frame): number {
  const window = second.ticks - first.ticks;
  return window > 0 ? (now.process.cpuTicks - before.process.cpuTicks) / window : 0;
}
