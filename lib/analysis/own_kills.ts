/** The processes that gpuctl itself has ended since boot, as its record of acts has them. */
import { isPid } from "../core/ids.ts";
import { valueOf } from "../core/reading.ts";
import type { Observation } from "../model/observation.ts";
import type { OwnKill } from "./reset_input.ts";

const MICROSECONDS_PER_TICK = 10_000;

/** Reads the record: a line that is none of ours, or of another boot, names nobody. */
export function findOwnKills(
  record: string,
  { host, takenAt, ticks }: Pick<Observation, "host" | "takenAt" | "ticks">,
): OwnKill[] {
  const bootId = valueOf(host.bootId);
  if (bootId === undefined) return [];
  const bootedAt = Date.parse(takenAt) * 1000 - ticks * MICROSECONDS_PER_TICK;
  return record.split("\n").flatMap((line): OwnKill[] => {
    const entry = parseLine(line);
    const act = entry === undefined ? undefined : fieldsOf(entry["act"]);
    if (act === undefined || entry?.["bootId"] !== bootId || entry["event"] !== "outcome") return [];
    const { pid, signal } = act;
    if (typeof pid !== "number" || !isPid(pid) || typeof signal !== "string") return [];
    const at = Date.parse(String(entry["at"])) * 1000 - bootedAt;
    return [{ pid, ...Number.isFinite(at) && at >= 0 && { microsecondsSinceBoot: at } }];
  });
}

function parseLine(line: string): Readonly<Record<string, unknown>> | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    return fieldsOf(JSON.parse(line));
  } catch {
    return undefined; // Cut short by a full disk, or not ours: it names nobody.
  }
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === "object" && value !== null ? { ...value } : undefined;
}
