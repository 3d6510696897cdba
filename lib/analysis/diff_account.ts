/** How one GPU's memory differs between two looks, and whose the difference is. */
import type { Pid } from "../core/ids.ts";
import { absent, known, type Reading } from "../core/reading.ts";
import { type ByteChange, byteChange, type Bytes, bytes } from "../core/units.ts";
import type { Gpu } from "../model/gpu.ts";
import { changeOf, differenceOf, type Rows, rowsOf, sumRows } from "./diff_rows.ts";
import { CONTEXT_BYTES } from "./unlisted_bytes.ts";

/** One GPU's change, split into what is other people's and what is not. */
export interface AccountChange {
  /** Used memory now − before, whoever uses it. */
  readonly total: Reading<ByteChange>;
  /** The part that other people's contexts explain. Absent where their list is not whole. */
  readonly others: Reading<ByteChange>;
  /** total − others: the job's contexts and what no context explains. */
  readonly left: Reading<ByteChange>;
  /** The job's own contexts that the driver lists now. */
  readonly jobRows: Rows;
  readonly jobBytes: Reading<Bytes>;
}

/** Splits a GPU's change between two looks. Every context that is not the job's is other people's. */
export function accountChange(before: Gpu, after: Gpu, isJobs: (pid: Pid) => boolean): AccountChange {
  const total = totalChange(before, after);
  const rows = rowsOf(after);
  const others = othersChange(before, after, isJobs);
  const earlier = rowsOf(before);
  const newcomers = [...rows.keys()].filter((pid) => !isJobs(pid) && !earlier.has(pid)).length;
  const left = !total.ok ? total : others.ok ? known(leftOf(total.value - others.value, newcomers)) : others;
  return {
    total,
    others,
    left,
    jobRows: new Map([...rows].filter(([pid]) => isJobs(pid))),
    jobBytes: sumRows(rows, isJobs),
  };
}

/** What other people's contexts do not explain. Each that is new costs a little beside what is listed with it. */
function leftOf(rest: number, newcomers: number): ByteChange {
  return byteChange(rest > 0 && rest <= newcomers * CONTEXT_BYTES ? 0 : rest);
}

/** What is in use of the job's and not given back, as far as can be told: never negative, absent where nothing can be. */
export function remainingOf({ total, left, jobBytes }: AccountChange): Reading<Bytes> {
  const change = left.ok ? left : total;
  if (!change.ok) return change;
  return known(bytes(Math.max(0, change.value, jobBytes.ok ? jobBytes.value : 0)));
}

function totalChange(before: Gpu, after: Gpu): Reading<ByteChange> {
  const [was, is] = [before.usedIncludesReserve, after.usedIncludesReserve];
  if (was.ok && is.ok && was.value !== is.value) {
    return absent("failed", "the driver's reserve is counted as used memory in one of the two looks only");
  }
  return differenceOf(before.memoryUsed, after.memoryUsed);
}

function othersChange(before: Gpu, after: Gpu, isJobs: (pid: Pid) => boolean): Reading<ByteChange> {
  for (const { processList } of [before, after]) {
    if (processList.state !== "known") return processList.reason;
  }
  return changeOf(rowsOf(before), rowsOf(after), (pid) => !isJobs(pid));
}
