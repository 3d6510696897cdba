import type { GpuIndex, Pid } from "../core/ids.ts";
import type { Reading } from "../core/reading.ts";
import type { Bytes, ClockTicks, Milliseconds } from "../core/units.ts";
import type { Ghost, HolderClass, Problem } from "./snapshot.ts";

/**
 * What became of a process that was to be ended:
 *
 * - `planned`: nothing was done; this is the plan
 * - `ended`: it ended after SIGTERM
 * - `ended-by-force`: it took SIGKILL
 * - `already-gone`: it was gone before a signal was sent
 * - `changed`: it is no longer what was judged, so no signal was sent
 * - `denied`: this user may not signal it
 * - `survived`: it is still there after SIGKILL
 * - `memory-held`: it ended, and its memory is still in use
 */
export const END_OUTCOMES = [
  "planned",
  "ended",
  "ended-by-force",
  "already-gone",
  "changed",
  "denied",
  "survived",
  "memory-held",
] as const;
export type EndOutcome = typeof END_OUTCOMES[number];

/** One process that was ended, or was to be, with what it gave back. */
export interface Act {
  readonly pid: Pid;
  readonly startTicks: ClockTicks;
  readonly class: HolderClass;
  readonly evidence: readonly string[];
  readonly command: string;
  /** The last signal that was sent; null when none was. */
  readonly signal: string | null;
  readonly outcome: EndOutcome;
  /** Bytes of its contexts and of the dead ones it kept; null where not known. */
  readonly bytesBefore: Bytes | null;
  readonly bytesAfter: Bytes | null;
  /** From the first signal until the bytes were back; null when they did not come back. */
  readonly releaseMs: Milliseconds | null;
}

/** A holder that was left alone, and why. */
export interface KeptHolder {
  readonly pid: Pid;
  readonly class: HolderClass;
  readonly why: string;
  /** Whether it is what the cleaning is about, and is left alone for now or for want of proof: it holds on. */
  readonly isSpared: boolean;
}

/** How far a cleaning could see. */
export interface CleaningSight {
  /** Whether only this user's own processes are its business, as they are without root. */
  readonly isOwnOnly: boolean;
  /** What it rests on and could not be seen, a sentence each: with any, nothing found is not nothing there. */
  readonly gaps: readonly string[];
  /** What nobody in its place can see, or is none of its business. It does not count against the result. */
  readonly limits: readonly string[];
}

/** What a cleaning came to. */
export interface Cleanup {
  readonly takenAt: Reading<string>;
  readonly simulated: boolean;
  readonly isPlan: boolean;
  readonly acts: readonly Act[];
  /** What the acts held together; null where not known. What two of them kept together counts once. */
  readonly heldBytes: Bytes | null;
  readonly kept: readonly KeptHolder[];
  readonly ghosts: readonly Ghost[];
  /** GPUs to be cleaned whose process list could not be read in full: what they hold is not known. */
  readonly unreadGpus: readonly GpuIndex[];
  readonly sight: CleaningSight;
  readonly problems: readonly Problem[];
}

/** Whether all that a cleaning rests on was seen: only then is nothing found the same as nothing there. */
export function isProven({ unreadGpus, sight }: Pick<Cleanup, "unreadGpus" | "sight">): boolean {
  return unreadGpus.length === 0 && sight.gaps.length === 0;
}
