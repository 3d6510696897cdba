/** What gpuctl itself has done since boot, as its record of acts has it: the driver logs some of it as a fault. */
import { type BusId, isPid } from "../core/ids.ts";
import { valueOf } from "../core/reading.ts";
import type { Observation } from "../model/observation.ts";
import { busIdsOf } from "./reset_plan.ts";
import type { OwnKill } from "./reset_input.ts";

const MICROSECONDS_PER_TICK = 10_000;
/** What the two clocks of one moment may lie apart: they are read one after the other. */
const CLOCK_TOLERANCE_US = 1_000_000;

type Fields = Readonly<Record<string, unknown>>;
type Moment = Pick<Observation, "host" | "takenAt" | "ticks">;

/** The processes that it has ended. A line that is none of ours, or of another boot, names nobody. */
export function findOwnKills(record: string, now: Moment): OwnKill[] {
  return [...eachOutcome(record, now)].flatMap(({ entry, at }): OwnKill[] => {
    const { pid, signal } = fieldsOf(entry["act"]) ?? {};
    if (typeof pid !== "number" || !isPid(pid) || typeof signal !== "string") return [];
    return [{ pid, ...at !== undefined && { microsecondsSinceBoot: at } }];
  });
}

/** The GPUs that it has reset, and when for the last time, in microseconds since boot. */
export function findLastResets(record: string, now: Moment): ReadonlyMap<BusId, number> {
  const last = new Map<BusId, number>();
  for (const { entry, at } of eachOutcome(record, now)) {
    const { kind, state, command } = fieldsOf(entry["step"]) ?? {};
    if (kind !== "reset" || state !== "done" || at === undefined || !isWords(command)) continue;
    for (const busId of namedIn(command)) last.set(busId, Math.max(at, last.get(busId) ?? 0));
  }
  return last;
}

interface Outcome {
  readonly entry: Fields;
  /** Microseconds since boot; `undefined` where the record's time makes no sense. */
  readonly at: number | undefined;
}

function* eachOutcome(record: string, { host, takenAt, ticks }: Moment): Generator<Outcome> {
  const bootId = valueOf(host.bootId);
  if (bootId === undefined) return;
  const bootedAt = Date.parse(takenAt) * 1000 - ticks * MICROSECONDS_PER_TICK;
  for (const line of record.split("\n")) {
    const entry = parseLine(line);
    if (entry === undefined || entry["bootId"] !== bootId || entry["event"] !== "outcome") continue;
    const at = Date.parse(String(entry["at"])) * 1000 - bootedAt;
    // A clock that was set meanwhile gives moments that cannot be.
    const isPossible = at >= 0 && at <= ticks * MICROSECONDS_PER_TICK + CLOCK_TOLERANCE_US;
    yield { entry, at: isPossible ? at : undefined };
  }
}

function parseLine(line: string): Fields | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    return fieldsOf(JSON.parse(line));
  } catch {
    return undefined; // Cut short by a full disk, or not ours: it names nobody.
  }
}

function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === "object" && value !== null ? { ...value } : undefined;
}

function isWords(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((word) => typeof word === "string");
}

function namedIn(command: readonly string[]): readonly BusId[] {
  try {
    return busIdsOf({ command });
  } catch (error) {
    if (error instanceof SyntaxError) return []; // Forged: what it names is no GPU.
    throw error;
  }
}
