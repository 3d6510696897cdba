/** Who has a node mapped without having it open: a mapping outlives its descriptor. */
import type { Pid } from "../core/ids.ts";
import { type Absent, absent } from "../core/reading.ts";
import { milliseconds } from "../core/units.ts";
import type { FamilyOptions } from "./family.ts";
import { listPids } from "./files.ts";
import { readMappingsOfWaiting } from "./memory.ts";
import type { ReadProcess } from "./process.ts";

/** How many processes are read at once. The runtime has fewer threads than that for it. */
const BATCH = 32;

export interface Mappers {
  readonly pids: readonly Pid[];
  /** Why the mappings of some were not read. */
  readonly cutShort?: Absent;
}

/** Looks through the mappings of all processes but those whose mappings have been read before. */
export async function findMappers(
  read: ReadonlyMap<Pid, ReadProcess>,
  { calls, recogniser, clock, deadline }: FamilyOptions,
): Promise<Mappers> {
  const others = listPids(calls.procRoot).filter((pid) => read.get(pid)?.mappings.ok !== true);
  const late = clock.pause(milliseconds(Math.max(0, deadline - clock.monotonic())));
  const pids: Pid[] = [];
  for (let start = 0; start < others.length; start += BATCH) {
    const batch = others.slice(start, start + BATCH);
    const mappings = await Promise.all(
      batch.map((pid) => readMappingsOfWaiting(`${calls.procRoot}/${pid}`, recogniser, late)),
    );
    pids.push(...batch.filter((_, place) => {
      const found = mappings[place];
      return found?.ok && found.value.length > 0;
    }));
    const tooLate = mappings.find((each) => !each.ok && each.why === "timed-out");
    if (tooLate) return { pids, cutShort: absent("timed-out", "not all mappings were read") };
  }
  return { pids };
}
