/** Reads processes together with everybody they descend from. */
import { isPid, type Pid } from "../core/ids.ts";
import { type Absent, absent } from "../core/reading.ts";
import { type Milliseconds, milliseconds } from "../core/units.ts";
import type { Clock } from "../world/ports.ts";
import type { DeviceRecogniser } from "./devices.ts";
import { type ProcessCalls, type ReadProcess, readProcess } from "./process.ts";

/** How long to wait for a locked memory. A disk answers sooner, a driver that is stuck never does. */
const PATIENCE_MS = 250;

export interface FamilyOptions {
  readonly calls: ProcessCalls;
  /** Whose nodes are looked for among the mappings of `pids`; those of ancestors are not read. */
  readonly recogniser: DeviceRecogniser;
  readonly clock: Pick<Clock, "monotonic" | "pause">;
  readonly deadline: Milliseconds;
}

/**
 * Adds `pids` and all their ancestors to what was read before. A process that is gone, or hidden, is left out.
 *
 * @returns why some were not read, if the deadline came first.
 */
export async function readFamily(
  pids: Iterable<Pid>,
  read: Map<Pid, ReadProcess>,
  options: FamilyOptions,
): Promise<Absent | undefined> {
  const wanted = new Set(pids);
  for (const pid of wanted) {
    // An ancestor of somebody else was read without its mappings.
    if (read.get(pid)?.mappings.ok === false) read.delete(pid);
  }
  const cutShort = await readAll(wanted, read, options, options.recogniser);
  return cutShort ?? await readAncestors(read, options);
}

async function readAncestors(
  read: Map<Pid, ReadProcess>,
  options: FamilyOptions,
): Promise<Absent | undefined> {
  const tried = new Set<Pid>();
  while (true) {
    const parents = Array.from(read.values(), ({ process }) => process.parentPid).filter(isPid)
      .filter((pid) => !read.has(pid) && !tried.has(pid));
    if (parents.length === 0) return undefined;
    const cutShort = await readAll(new Set(parents), read, options, undefined);
    if (cutShort) return cutShort;
    for (const pid of parents) tried.add(pid);
  }
}

async function readAll(
  pids: ReadonlySet<Pid>,
  read: Map<Pid, ReadProcess>,
  { calls, clock, deadline }: FamilyOptions,
  recogniser: DeviceRecogniser | undefined,
): Promise<Absent | undefined> {
  let pause: Promise<void> | undefined;
  const late = () =>
    pause ??= clock.pause(milliseconds(Math.max(0, Math.min(PATIENCE_MS, deadline - clock.monotonic()))));
  const missing = [...pids].filter((pid) => !read.has(pid));
  const begun: Promise<readonly [Pid, ReadProcess | undefined]>[] = [];
  for (const pid of missing) {
    if (clock.monotonic() > deadline) break;
    begun.push(readProcess(pid, { calls, recogniser, late }).then((found) => [pid, found] as const));
  }
  for (const [pid, found] of await Promise.all(begun)) if (found) read.set(pid, found);
  if (begun.length === missing.length) return undefined;
  return absent("timed-out", `${begun.length} of ${missing.length} processes were read`);
}
