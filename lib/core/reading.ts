/**
 * Why a value is missing. Each word is one answer that a person can act on:
 *
 * - `not-supported`: this GPU, driver or source has no such value
 * - `no-permission`: it exists, but not for this user
 * - `lost`: the GPU has fallen off the bus
 * - `reset-required`: the GPU says so in place of a value
 * - `not-reported`: the source answered and left the value out
 * - `not-asked`: reading it costs time and nobody asked for it
 * - `timed-out`: no answer before the deadline
 * - `exited`: the process went away while it was being read
 * - `erased`: the process has overwritten it (setproctitle does this to its environment)
 * - `hidden`: a namespace or a mount option keeps it from this reader
 * - `implausible`: the source answered with something that cannot be true
 * - `failed`: the call failed; the detail has its words
 */
export const WHYS = [
  "not-supported",
  "no-permission",
  "lost",
  "reset-required",
  "not-reported",
  "not-asked",
  "timed-out",
  "exited",
  "erased",
  "hidden",
  "implausible",
  "failed",
] as const;
export type Why = typeof WHYS[number];

/** A value that is missing, and why. `detail` is for people: a status name, a path, the source's own words. */
export interface Absent {
  readonly ok: false;
  readonly why: Why;
  readonly detail?: string;
}

/** One value that a source was asked for: what it said, or why it has none. Never 0, "", NaN or "N/A". */
export type Reading<T> = { readonly ok: true; readonly value: T } | Absent;

/** Wraps a value that was read. */
export function known<T>(value: T): Reading<T> {
  return { ok: true, value };
}

/** Stands for a value that could not be read. */
export function absent(why: Why, detail?: string): Absent {
  return detail === undefined ? { ok: false, why } : { ok: false, why, detail };
}

/** Applies `change` to a known value and passes an absent one on. */
export function mapReading<T, U>(reading: Reading<T>, change: (value: T) => U): Reading<U> {
  return reading.ok ? known(change(reading.value)) : reading;
}

/** Says whether a value is known to be true. */
export function isTrue(reading: Reading<boolean> | undefined): boolean {
  return reading?.ok === true && reading.value;
}

/** Says whether a value is known to be false: not the contrary of known to be true. */
export function isFalse(reading: Reading<boolean> | undefined): boolean {
  return reading?.ok === true && !reading.value;
}

/** The value if there is one. For logic that treats every kind of absence alike, and for nothing else. */
export function valueOf<T>(reading: Reading<T>): T | undefined {
  return reading.ok ? reading.value : undefined;
}

const WHY_WORDS: Readonly<Record<Why, string>> = {
  "not-supported": "not supported here",
  "no-permission": "no permission",
  lost: "the GPU has fallen off the bus",
  "reset-required": "the GPU needs a reset",
  "not-reported": "not reported",
  "not-asked": "not asked for",
  "timed-out": "no answer in time",
  exited: "the process has exited",
  erased: "the process has overwritten it",
  hidden: "hidden from here",
  implausible: "the answer cannot be true",
  failed: "the call failed",
};

/** Says for a person why a value is missing: `no permission (/proc/812/fd)`. */
export function formatAbsent({ why, detail }: Absent): string {
  return detail === undefined ? WHY_WORDS[why] : `${WHY_WORDS[why]} (${detail})`;
}
