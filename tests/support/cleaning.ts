/** What `gpuctl clean-zombies --json` says, as end-to-end tests look at it. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { parseDocument } from "./documents.ts";
import type { Ended } from "./running_program.ts";
import type { Hold, HoldOptions, SimulatedServer } from "./sim.ts";
import { until } from "./until.ts";

/** A cleaning without the pauses that are meant for a real machine. */
export const QUICKLY = ["clean-zombies", "--json", "--min-age", "0s", "--confirm", "100ms"] as const;

/** The keys of a cleaning that these tests look at. */
export interface Cleaning {
  readonly plan: boolean;
  readonly acts: readonly {
    readonly pid: number;
    readonly class: string;
    readonly signal: string | null;
    readonly outcome: string;
    readonly bytesBefore: number | null;
    readonly bytesAfter: number | null;
    readonly releaseMs: number | null;
  }[];
  readonly kept: readonly {
    readonly pid: number;
    readonly class: string;
    readonly why: string;
    readonly spared: boolean;
  }[];
  readonly ghosts: readonly {
    readonly pid: number;
    readonly likelyHolders: readonly { readonly pid: number }[];
  }[];
}

/** Reads what a run wrote. @throws {AssertionError} if it did not end with this status, or complained */
export function readCleaning({ status, stdout, stderr }: Ended, expected: number): Cleaning {
  assert.deepEqual({ status, stderr }, { status: expected, stderr: "" }, stdout);
  return parseDocument(stdout);
}

/** Starts a job and waits until its holders do nothing: a cleaning spares who is at work, be it only still starting. */
export async function holdAtRest(server: SimulatedServer, options: HoldOptions): Promise<Hold> {
  const hold = await server.hold(options);
  const holders = [...hold.stdout.matchAll(/^(?:holder|ready) (\d+)$/gm)].map(([, pid]) => Number(pid));
  await Promise.all(holders.map(untilAtRest));
  return hold;
}

/** Waits until a process has used no time of a processor for longer than a quick cleaning looks at it. */
export async function untilAtRest(pid: number): Promise<void> {
  let [spent, since] = [readTicks(pid), performance.now()];
  await until(`PID ${pid} to be at rest`, () => {
    const now = readTicks(pid);
    if (now !== spent) [spent, since] = [now, performance.now()];
    return performance.now() - since > REST_MS;
  });
}

/** Twice what QUICKLY waits. */
const REST_MS = 200;

/** utime and stime of proc_pid_stat(5): fields 14 and 15, counted from the last `)`. */
function readTicks(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return Number(fields[11]) + Number(fields[12]);
}

/** Whether anything of a process still runs: a zombie with one thread does not. */
export function isRunning(pid: number): boolean {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "latin1");
    return !/^State:\tZ/m.test(status) || !/^Threads:\t1$/m.test(status);
  } catch {
    return false; // There is no such process.
  }
}
