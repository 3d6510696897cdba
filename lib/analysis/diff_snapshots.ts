/** What changed between two snapshots of one machine. Pure; GPUs are matched by the best key that both have, processes by pid and start time. */
import type { GpuUuid } from "../core/ids.ts";
import { absent, known, type Reading } from "../core/reading.ts";
import { type Bytes, bytes, formatBytes } from "../core/units.ts";
import {
  type ContextChange,
  type GpuDiff,
  type GpuVerdict,
  type Handover,
  type Leftover,
  type SnapshotDiff,
  type SnapshotOrigin,
  worstVerdict,
} from "../model/diff.ts";
import type { Gpu } from "../model/gpu.ts";
import type { Snapshot } from "../model/snapshot.ts";
import { type AccountChange, accountChange } from "./diff_account.ts";
import { changesOn, handoversOn, type Pair } from "./diff_changes.ts";
import { describeComparison } from "./diff_comparison.ts";
import { whyNotTrusted } from "./diff_gpu.ts";
import { admitHiddenRows } from "./diff_hidden.ts";
import { withSameIds } from "./diff_same_gpus.ts";
import { collectLeftovers, keepersOf, newcomersOn, type Reason } from "./diff_keepers.ts";
import { VISIBILITY_BYTES } from "./unlisted_bytes.ts";
import { reasonOfHandover } from "./diff_leftovers.ts";

/** One of two snapshots, under the name that the person gave it. */
export interface NamedSnapshot {
  readonly name: string;
  readonly snapshot: Snapshot;
}

const NOT_A_JOB = absent("not-supported", "two snapshots show no job");

/** Compares two snapshots. Changes up to `tolerance` are none. */
export function diffSnapshots(before: NamedSnapshot, after: NamedSnapshot, tolerance: Bytes): SnapshotDiff {
  const pair: Pair = {
    ...withSameIds({
      before: admitHiddenRows(before.snapshot),
      after: admitHiddenRows(after.snapshot),
    }),
    tolerance,
  };
  const uuids = new Set([...pair.before.gpus, ...pair.after.gpus].map(({ gpu }) => gpu.uuid));
  const compared = [...uuids].map((uuid) => compareGpu(uuid, pair));
  return {
    before: originOf(before),
    after: originOf(after),
    verdict: worstVerdict(compared.map(({ diff }) => diff.verdict.kind)),
    gpus: compared.map(({ diff }) => diff),
    changes: compared.flatMap(({ changes }) => changes),
    leftovers: leftoversOf(compared, pair),
    notes: describeComparison(pair.before, pair.after),
    problems: [...pair.before.problems, ...pair.after.problems],
  };
}

interface ComparedGpu {
  readonly diff: GpuDiff;
  readonly changes: readonly ContextChange[];
  readonly handovers: readonly Handover[];
}

function compareGpu(uuid: GpuUuid, pair: Pair): ComparedGpu {
  const [before, after] = [pair.before, pair.after].map(({ gpus }) =>
    gpus.find(({ gpu }) => gpu.uuid === uuid)?.gpu
  );
  const shown = after ?? before;
  if (!shown) throw new Error(`Cannot compare GPU ${uuid}: neither snapshot has it`);
  if (!before || !after) return halfSeen(shown, before, pair);
  const changes = changesOn(before, after, pair);
  const handovers = handoversOn(before, after, changes, pair.tolerance);
  const account = accountChange(before, after, () => false);
  const frame: Frame = { before, after, changes, handovers, account, pair };
  return {
    diff: {
      ...describeGpu(shown),
      before: before.memoryUsed,
      after: after.memoryUsed,
      left: leftOf(frame),
      verdict: judge(frame),
    },
    changes,
    handovers,
  };
}

function describeGpu({ uuid, index, name }: Gpu) {
  return { uuid, index, name, peak: NOT_A_JOB, jobPeak: NOT_A_JOB, others: NOT_A_JOB };
}

/** A GPU that only one snapshot has. Why the other lacks it may stand there; a text may have left it out. */
function halfSeen(shown: Gpu, before: Gpu | undefined, pair: Pair): ComparedGpu {
  const [other, which] = before ? [pair.after, "second"] : [pair.before, "first"];
  const reason = other.problems.find(({ subject }) => subject === `GPU ${shown.index}`)?.reason ??
    absent("not-reported", `it is not in the ${which} snapshot`);
  return {
    diff: {
      ...describeGpu(shown),
      before: before ? shown.memoryUsed : reason,
      after: before ? reason : shown.memoryUsed,
      left: reason,
      verdict: { kind: "unknown", reason },
    },
    changes: [],
    handovers: [],
  };
}

interface Frame {
  readonly before: Gpu;
  readonly after: Gpu;
  readonly changes: readonly ContextChange[];
  readonly handovers: readonly Handover[];
  readonly account: AccountChange;
  readonly pair: Pair;
}

function judge(frame: Frame): GpuVerdict {
  return judgeNew(frame) ?? judgeUnexplained(frame) ?? judgeMoved(frame) ?? judgeGrown(frame) ??
    judgeSame(frame);
}

function judgeNew({ changes, after, pair }: Frame): GpuVerdict | undefined {
  const added = changes.filter(({ kind, after: used }) =>
    kind === "new" && !(used.ok && used.value <= pair.tolerance)
  );
  if (added.length === 0) return undefined;
  const by = new Set(added.flatMap(({ pid }) => keepersOf(pid, after.uuid, pair)));
  if (by.size > 0) return { kind: "held", by: [...by] };
  return { kind: "held-by-nobody-visible", listed: added.map(({ pid }) => pid) };
}

/** More is in use than any context explains. Without a list that holds for the whole total. */
function judgeUnexplained({ account, after, pair }: Frame): GpuVerdict | undefined {
  const more = account.left.ok ? account.left : account.total;
  if (!more.ok || more.value <= pair.tolerance) return undefined;
  const newcomers = newcomersOn(after.uuid, pair, () => false);
  if (more.value <= newcomers.length * VISIBILITY_BYTES) return { kind: "changed-by-others" };
  return { kind: "held-by-nobody-visible", listed: [] };
}

function judgeMoved({ handovers }: Frame): GpuVerdict | undefined {
  return handovers.length > 0 ? { kind: "moved", handovers } : undefined;
}

function judgeGrown({ changes }: Frame): GpuVerdict | undefined {
  const by = changes.filter(({ kind }) => kind === "grown").map(({ pid }) => pid);
  return by.length > 0 ? { kind: "grew", by } : undefined;
}

function judgeSame({ before, after, changes, account, pair }: Frame): GpuVerdict {
  const doubt = whyNotTrusted(after) ?? whyNotTrusted(before);
  if (doubt) return { kind: "unknown", reason: doubt };
  if (!account.total.ok) return { kind: "unknown", reason: account.total };
  if (!account.left.ok) return { kind: "unknown", reason: account.left };
  const isLess = changes.some(({ kind }) => kind === "gone" || kind === "shrunk") ||
    account.total.value < -pair.tolerance;
  const moment = absent("not-supported", "two snapshots show no moment between them");
  return isLess ? { kind: "released", in: moment } : { kind: "unchanged" };
}

/** Everything in use that was not before: new and grown contexts, and what no context explains. */
function leftOf({ changes, account }: Frame): Reading<Bytes> {
  if (!account.left.ok) return account.left;
  let sum = Math.max(0, account.left.value);
  for (const { kind, before, after } of changes) {
    if (kind !== "new" && kind !== "grown") continue;
    if (!before.ok) return before;
    if (!after.ok) return after;
    sum += after.value - before.value;
  }
  return known(bytes(sum));
}

function leftoversOf(compared: readonly ComparedGpu[], pair: Pair): Leftover[] {
  return collectLeftovers(compared.flatMap((gpu) => reasonsOn(gpu, pair)), pair.after, () => false);
}

function reasonsOn({ diff: { uuid, index: gpu }, changes, handovers }: ComparedGpu, pair: Pair): Reason[] {
  const added = changes.filter(({ kind }) => kind === "new").flatMap(({ pid: listed, after: used }) => {
    const amount = used.ok ? formatBytes(used.value) : "memory";
    return keepersOf(listed, uuid, pair).map((pid): Reason =>
      pid === listed
        ? { pid, gpu, before: `holds ${amount} on `, after: "" }
        : { pid, gpu, before: `may hold ${amount} on `, after: ` that dead PID ${listed} allocated` }
    );
  });
  return [...handovers.map((handover) => reasonOfHandover(handover, gpu)), ...added];
}

function originOf({ name, snapshot }: NamedSnapshot): SnapshotOrigin {
  const { takenAt, source, simulated, host } = snapshot;
  return { name, takenAt, source, simulated, host };
}
