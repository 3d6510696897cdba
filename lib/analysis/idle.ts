/**
 * How long holders have used neither processor nor GPU, over the runs of a timer: one look cannot tell, so each run leaves
 * a record for the next. Pure: records and a look in, records and spans out.
 */
import type { Pid } from "../core/ids.ts";
import { type ClockTicks, clockTicks, type Milliseconds, milliseconds } from "../core/units.ts";
import type { Facts } from "./facts.ts";
import type { TimedJudgement } from "./ending.ts";
import { TICK_MS } from "./ending.ts";

/** What one run saw of a holder. `bootId`, `pid` and `startTicks` together are one process for good. */
export interface IdleRecord {
  readonly bootId: string;
  readonly pid: Pid;
  readonly startTicks: ClockTicks;
  readonly cpuTicks: ClockTicks;
  /** Bytes of all its contexts. */
  readonly bytes: number;
  /** When it was last seen to do something, or first seen at all. */
  readonly sinceTicks: ClockTicks;
  readonly seenTicks: ClockTicks;
}

/** A thread that merely polls for its parent uses less than this share of a core. */
const POLLING_SHARE = 0.002;

/** Brings the records up to date with a look. Holders that are gone drop out. */
export function updateIdleRecords(
  before: readonly IdleRecord[],
  { judgement, ticks }: TimedJudgement,
  bootId: string,
): IdleRecord[] {
  return judgement.holders.map(({ facts }) => {
    const { pid, startTicks, cpuTicks } = facts.process;
    const now = { bootId, pid, startTicks, cpuTicks, bytes: bytesOf(facts), seenTicks: ticks };
    const last = before.find((each) =>
      each.bootId === bootId && each.pid === pid && each.startTicks === startTicks
    );
    const isIdle = last !== undefined && !hasWorked(last, now) && !usesGpu(facts);
    return { ...now, sinceTicks: isIdle ? last.sinceTicks : ticks };
  });
}

/** How long each holder has been idle, as far as the records go back. */
export function idleSpans(records: readonly IdleRecord[]): ReadonlyMap<Pid, Milliseconds> {
  return new Map(records.map(({ pid, sinceTicks, seenTicks }) => [
    pid,
    milliseconds(Math.max(0, seenTicks - sinceTicks) * TICK_MS),
  ]));
}

/** @throws {SyntaxError} if the text is not what `JSON.stringify` makes of records. */
export function parseIdleRecords(text: string): IdleRecord[] {
  const list: unknown = JSON.parse(text);
  if (!Array.isArray(list) || !list.every(isRecord)) {
    throw new SyntaxError("Cannot parse the idle records: expected a list of processes");
  }
  return list;
}

function isRecord(value: unknown): value is IdleRecord {
  if (
    typeof value !== "object" || value === null || !("bootId" in value) || typeof value.bootId !== "string"
  ) return false;
  const numbers = new Map(Object.entries(value));
  return ["pid", "startTicks", "cpuTicks", "bytes", "sinceTicks", "seenTicks"].every((key) =>
    Number.isSafeInteger(numbers.get(key))
  );
}

function hasWorked(last: IdleRecord, now: Omit<IdleRecord, "sinceTicks">): boolean {
  const allowed = clockTicks(Math.ceil(Math.max(0, now.seenTicks - last.seenTicks) * POLLING_SHARE) + 1);
  return now.cpuTicks - last.cpuTicks > allowed || now.bytes !== last.bytes;
}

/** A GPU that is at work, or whose utilization is not known, may be at work for any of its holders. */
function usesGpu({ contexts }: Facts): boolean {
  return contexts.some(({ gpu: { utilization } }) => !utilization.ok || utilization.value > 0);
}

function bytesOf({ contexts }: Facts): number {
  return contexts.reduce((sum, { context }) => sum + (context.used.ok ? context.used.value : 0), 0);
}
