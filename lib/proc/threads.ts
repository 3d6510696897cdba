/** What the threads of a process do. One that waits in the driver cannot be ended; one that lives keeps everything. */
import { readdirSync } from "node:fs";
import { absent, known, type Reading } from "../core/reading.ts";
import type { ProcessState, ProcStat } from "../model/process.ts";
import { absentFor, readText } from "./files.ts";
import { findStat } from "./stat.ts";

export interface Thread {
  readonly task: number;
  readonly state: ProcessState;
}

/** Functions of the NVIDIA modules, and of their locks, begin like this. */
const DRIVER_FUNCTION = /^_?(?:nv|uvm|rm_|os_)/;

/** Reads the state of each thread, the main one included. */
export function readThreads(directory: string, stat: ProcStat): Reading<readonly Thread[]> {
  if (stat.threads <= 1) return known([{ task: stat.pid, state: stat.state }]);
  try {
    const tasks = readdirSync(`${directory}/task`);
    return known(tasks.flatMap((task) => {
      const found = findStat(`${directory}/task/${task}`);
      return found ? [{ task: found.pid, state: found.state }] : []; // This thread has ended meanwhile.
    }));
  } catch (error) {
    return absentFor(error);
  }
}

/** Says whether a thread still runs any code. */
export function isAlive({ state }: Pick<Thread, "state">): boolean {
  return state !== "Z" && state !== "X";
}

/**
 * Reads the kernel function in which a thread in state D waits (wchan of proc(5)). One that waits in the driver counts
 * before one that waits for a disk.
 */
export function readWaitChannel(directory: string, threads: readonly Thread[]): Reading<string> {
  const waiting = threads.filter(({ state }) => state === "D");
  if (waiting.length === 0) return absent("not-asked", "no thread is in state D");
  const places = waiting.flatMap(({ task }) => {
    const place = readText(`${directory}/task/${task}/wchan`);
    return place.ok && place.value !== "0" && place.value !== "" ? [place.value] : [];
  });
  const [first] = places;
  const place = places.find((name) => DRIVER_FUNCTION.test(name)) ?? first;
  return place === undefined
    ? absent("not-reported", "the kernel does not say where it waits")
    : known(place);
}
