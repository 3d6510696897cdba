/** What `gpuctl clean-zombies --json` says, as end-to-end tests look at it. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import type { Ended } from "./running_program.ts";

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
  readonly kept: readonly { readonly pid: number; readonly class: string; readonly why: string }[];
  readonly ghosts: readonly {
    readonly pid: number;
    readonly likelyHolders: readonly { readonly pid: number }[];
  }[];
}

/** Reads what a run wrote. @throws {AssertionError} if it did not end with this status, or complained */
export function readCleaning({ status, stdout, stderr }: Ended, expected: number): Cleaning {
  assert.deepEqual({ status, stderr }, { status: expected, stderr: "" }, stdout);
  return JSON.parse(stdout);
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
