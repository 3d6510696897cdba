/** What came of one GPU's memory after a job. Pure; the rules stand in the order in which they decide. */
import type { Pid } from "../core/ids.ts";
import { type Absent, absent, type Reading } from "../core/reading.ts";
import type { Bytes, Milliseconds } from "../core/units.ts";
import type { GpuVerdict, Handover, ReleaseRate } from "../model/diff.ts";
import type { Gpu, ProcessList, RecoveryAction } from "../model/gpu.ts";
import { type AccountChange, accountChange } from "./diff_account.ts";
import { isMappedOn, keepersOf, type Looks, newcomersOn } from "./diff_keepers.ts";
import { rowsOf } from "./diff_rows.ts";
import { VISIBILITY_BYTES } from "./unlisted_bytes.ts";

/** What the verdict on one GPU rests on. */
export interface GpuEvidence {
  readonly before: Gpu;
  readonly after: Gpu;
  /** The whole looks: who was there before, and who is now. */
  readonly snapshots: Looks;
  readonly tolerance: Bytes;
  /** Whether a context of the job was listed here in any sample. */
  readonly isTouched: boolean;
  /** Seen while the samples were taken. */
  readonly handovers: readonly Handover[];
  /** From the end of the job to the first look that showed its memory back. */
  readonly backIn: Reading<Milliseconds>;
  /** Present where memory was still coming back when the wait ended. */
  readonly rate: ReleaseRate | undefined;
  isJobs(pid: Pid): boolean;
}

/** The verdict on one GPU with the account it rests on. */
export interface JudgedGpu {
  readonly verdict: GpuVerdict;
  readonly account: AccountChange;
  readonly handovers: readonly Handover[];
}

/** After these the driver's own figures mean nothing. */
const NEEDS_RESET: readonly RecoveryAction[] = ["reset", "reboot", "bus-reset", "system-reboot"];

/** Judges one GPU that both looks know. */
export function judgeGpu(evidence: GpuEvidence): JudgedGpu {
  const account = accountChange(evidence.before, evidence.after, evidence.isJobs);
  const handovers = standingHandovers(evidence);
  const verdict = judgeListed(evidence, account, handovers) ?? judgeMoved(handovers) ??
    judgeRest(evidence, account);
  return { verdict, account, handovers };
}

/** The job's own contexts are still listed: that alone is proof, whatever the sums say. */
function judgeListed(
  { snapshots, after, tolerance, rate }: GpuEvidence,
  { jobRows, jobBytes }: AccountChange,
  handovers: readonly Handover[],
): GpuVerdict | undefined {
  const importers = new Set(handovers.map(({ to }) => to));
  const listed = [...jobRows.keys()].filter((pid) => !importers.has(pid));
  if (listed.length === 0 || (jobBytes.ok && jobBytes.value <= tolerance)) return undefined;
  if (rate) return { kind: "still-releasing", rate };
  const by = new Set(listed.flatMap((pid) => keepersOf(pid, after.uuid, snapshots)));
  return by.size > 0 ? { kind: "held", by: [...by] } : { kind: "held-by-nobody-visible", listed };
}

function judgeMoved(handovers: readonly Handover[]): GpuVerdict | undefined {
  return handovers.length > 0 ? { kind: "moved", handovers } : undefined;
}

function judgeRest(evidence: GpuEvidence, account: AccountChange): GpuVerdict {
  const { total, left } = account;
  if (!total.ok) return { kind: "unknown", reason: total };
  const { before, after, tolerance } = evidence;
  if (left.ok) {
    return left.value <= tolerance ? judgeReturned(evidence, account) : judgeUnexplained(evidence, account);
  }
  // Where only other people's rows are hidden, a total that is back cannot hide anything of the job's.
  const isWhole = [before, after].every(({ processList }) => isWholeForJob(processList));
  return isWhole && total.value <= tolerance
    ? judgeReturned(evidence, account)
    : { kind: "unknown", reason: left };
}

/** Whether a list has every row of a job, though perhaps not everybody's. */
function isWholeForJob(list: ProcessList): boolean {
  return list.state === "known" || (list.state === "incomplete" && list.reason.why === "hidden");
}

function judgeReturned(evidence: GpuEvidence, { total }: AccountChange): GpuVerdict {
  const doubt = whyNotTrusted(evidence.after);
  if (doubt) return { kind: "unknown", reason: doubt };
  if (evidence.isTouched) return { kind: "released", in: evidence.backIn };
  const hasChanged = total.ok && Math.abs(total.value) > evidence.tolerance;
  return { kind: hasChanged ? "changed-by-others" : "unchanged" };
}

/** More is in use than before, no context says whose it is. */
function judgeUnexplained(evidence: GpuEvidence, { left, others }: AccountChange): GpuVerdict {
  const { after, snapshots, rate, isTouched, isJobs } = evidence;
  if (rate && isTouched) return { kind: "still-releasing", rate };
  const by = snapshots.after.holders.filter((holder) => isJobs(holder.pid) && isMappedOn(holder, after.uuid));
  const newcomers = newcomersOn(after.uuid, snapshots, isJobs);
  const dying = new Set(snapshots.after.ghosts.map(({ pid }) => pid).filter(isJobs));
  const seers = by.length + newcomers.length + dying.size;
  // That somebody still sees a GPU is no memory of the job's, whoever it is; between two snapshots it is none either.
  if (left.ok && left.value <= seers * VISIBILITY_BYTES) return { kind: "changed-by-others" };
  if (by.length > 0) return { kind: "held", by: by.map(({ pid }) => pid) };
  if (!isTouched) {
    return unknown("it is charged to no process, and the job was not seen on this GPU");
  }
  if (newcomers.length > 0 || (others.ok && others.value !== 0)) {
    return unknown("it is charged to no process, and other people's processes changed meanwhile");
  }
  return { kind: "held-by-nobody-visible", listed: [] };
}

/** A handover counts as long as the importer still has what it took over. */
function standingHandovers({ handovers, after, tolerance }: GpuEvidence): Handover[] {
  const rows = rowsOf(after);
  return handovers.filter(({ from, to, bytes }) => {
    const used = rows.get(to);
    return used?.ok && used.value >= bytes - tolerance && from.every((pid) => !rows.has(pid));
  });
}

/** Why a GPU's own figures mean nothing, if they do not: a driver in trouble prints 0 MiB as readily as the truth. */
export function whyNotTrusted(
  { memoryUsed, memoryFree, recoveryAction, utilization }: Gpu,
): Absent | undefined {
  for (const reading of [memoryUsed, memoryFree, recoveryAction, utilization]) {
    if (!reading.ok && (reading.why === "lost" || reading.why === "reset-required")) return reading;
  }
  if (!recoveryAction.ok || !NEEDS_RESET.includes(recoveryAction.value)) return undefined;
  return absent("reset-required", `the driver asks for: ${recoveryAction.value}`);
}

function unknown(detail: string): GpuVerdict {
  return { kind: "unknown", reason: absent("not-reported", detail) };
}
