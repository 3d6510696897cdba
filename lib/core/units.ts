declare const unit: unique symbol;
type Measured<Name extends string> = number & { readonly [unit]: Name };

/** Memory, a whole number from 0 to 2^53 - 1. */
export type Bytes = Measured<"bytes">;
/** The difference of two amounts of memory, a whole number: negative where there is less now. */
export type ByteChange = Measured<"byteChange">;
/** A span of time, or a monotonic moment where the name ends in `At` or is `deadline`. */
export type Milliseconds = Measured<"milliseconds">;
/** Kernel clock ticks since boot: starttime of proc_pid_stat(5), field 22. */
export type ClockTicks = Measured<"clockTicks">;
/** 0 to 100. */
export type Percent = Measured<"percent">;

/** What setTimeout counts to. Asked for more it ends at once, so longer waits must be cut to this: 24 days. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

const SIZE_UNITS: Readonly<Record<string, number>> = {
  B: 1,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
  TiB: 1024 ** 4,
};
const DURATION_UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** @throws {RangeError} if the value is not a whole, non-negative number below 2^53. */
export function bytes(value: number | bigint): Bytes {
  const count = Number(value);
  if (!Number.isSafeInteger(count) || count < 0) {
    throw new RangeError(
      `Cannot make a byte count as it must be a whole number from 0 to 2^53 - 1: current value is ${value}`,
    );
  }
  return count as Bytes;
}

/** @throws {RangeError} if the value is not a whole number between -2^53 and 2^53. */
export function byteChange(value: number): ByteChange {
  if (!Number.isSafeInteger(value)) {
    throw new RangeError(
      `Cannot make a byte change as it must be a whole number between -2^53 and 2^53: current value is ${value}`,
    );
  }
  return value as ByteChange;
}

/** @throws {RangeError} if the value is negative or not finite. */
export function milliseconds(value: number): Milliseconds {
  if (!Number.isFinite(value) || value < 0) {
    throw new RangeError(`Cannot make a duration as it must be 0 ms or more: current value is ${value}`);
  }
  return value as Milliseconds;
}

/** @throws {RangeError} if the value is not a whole, non-negative number. */
export function clockTicks(value: number): ClockTicks {
  if (!Number.isSafeInteger(value) || value < 0) {
    throw new RangeError(
      `Cannot make clock ticks as they must be a whole number of 0 or more: current value is ${value}`,
    );
  }
  return value as ClockTicks;
}

/** @throws {RangeError} if the value is not from 0 to 100. */
export function percent(value: number): Percent {
  if (!(value >= 0 && value <= 100)) {
    throw new RangeError(`Cannot make a percentage as it must be from 0 to 100: current value is ${value}`);
  }
  return value as Percent;
}

/** The sum of byte counts. */
export function sumBytes(counts: Iterable<Bytes>): Bytes {
  let sum = 0;
  for (const count of counts) sum += count;
  return bytes(sum);
}

/**
 * Reads a size as people write it: `10MiB`, `1.5GiB`. Only binary units, and none is left away but for 0: `MB` and a bare
 * number would be guesses.
 *
 * @throws {SyntaxError} if the text is not a size.
 */
export function parseSize(text: string): Bytes {
  if (text.trim() === "0") return bytes(0);
  const [amount, name] = splitAmount(text, SIZE_UNITS) ?? [];
  if (amount === undefined || name === undefined) {
    throw new SyntaxError(`Cannot parse "${text}" as a size: ${explainSize(text)}`);
  }
  const count = Math.round(amount * (SIZE_UNITS[name] ?? NaN));
  if (!Number.isSafeInteger(count)) {
    throw new SyntaxError(`Cannot parse "${text}" as a size: it must be below 2^53 bytes`);
  }
  return bytes(count);
}

/** What to write in place of a text that is no size: with a binary unit where its own is taken for one, but is not. */
function explainSize(text: string): string {
  const [, digits, letters = ""] = /^(\d{1,16}(?:\.\d{1,6})?) ?([A-Za-z]*)$/.exec(text.trim()) ?? [];
  if (digits !== undefined && letters === "") return `it needs a unit, such as ${digits}MiB`;
  const [, prefix = "B"] = /^(?:([KMGT])i?)?b?$/i.exec(letters) ?? [];
  if (digits === undefined || !/^(?:[KMGT]i?B?|B)$/i.test(letters)) {
    return "expected a number with B, KiB, MiB, GiB or TiB, such as 10MiB";
  }
  return `did you mean ${digits}${prefix === "B" ? "B" : `${prefix.toUpperCase()}iB`}?`;
}

/**
 * Reads a duration as people write it: `500ms`, `10s`, `2m`, `1.5h`. A bare number is refused: its unit would be a guess.
 *
 * @throws {SyntaxError} if the text is not a duration.
 */
export function parseDuration(text: string): Milliseconds {
  const [amount, name] = splitAmount(text, DURATION_UNITS) ?? [];
  if (amount === undefined || name === undefined) {
    throw new SyntaxError(
      `Cannot parse "${text}" as a duration: expected a number with ms, s, m, h or d, such as 10s`,
    );
  }
  return milliseconds(amount * (DURATION_UNITS[name] ?? NaN));
}

function splitAmount(text: string, units: Readonly<Record<string, number>>): [number, string] | undefined {
  const [, digits, name] = /^(\d{1,16}(?:\.\d{1,6})?) ?([A-Za-z]*)$/.exec(text.trim()) ?? [];
  if (digits === undefined || name === undefined || !Object.hasOwn(units, name)) return undefined;
  return [Number(digits), name];
}

const SIZE_STEPS = [["B", 1], ["KiB", 1024], ["MiB", 1024 ** 2], ["GiB", 1024 ** 3], [
  "TiB",
  1024 ** 4,
]] as const;

/** Writes a size for a person in the largest unit that leaves at least 1, with at most one decimal: `1.5 GiB`. */
export function formatBytes(count: Bytes): string {
  // The rounded amount picks the unit: picked by the exact one, a byte less than 1 GiB would read "1024 MiB".
  const [name, size] = SIZE_STEPS.find(([, size]) => roundAmount(count / size) < 1024) ?? ["TiB", 1024 ** 4];
  return `${roundAmount(count / size)} ${name}`;
}

/** Writes a change of size for a person: `+1.5 GiB`, `-20 MiB`, `0 B`. */
export function formatByteChange(change: ByteChange): string {
  const sign = change > 0 ? "+" : change < 0 ? "-" : "";
  return `${sign}${formatBytes(bytes(Math.abs(change)))}`;
}

function roundAmount(amount: number): number {
  return amount < 100 ? Math.round(amount * 10) / 10 : Math.round(amount);
}

/** Writes a duration for a person: `85 ms`, `1.2 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`. */
export function formatDuration(span: Milliseconds): string {
  // Each unit is left by its rounded amount, so that none reads "1000 ms", "60 s" or "1 min 60 s".
  if (Math.round(span) < 1000) return `${Math.round(span)} ms`;
  const tenths = Math.round(span / 100);
  if (tenths < 600) return `${tenths / 10} s`;
  const seconds = Math.round(span / 1000);
  if (seconds < 3600) return formatPair(seconds, 60, ["min", "s"]);
  const minutes = Math.round(span / 60_000);
  if (minutes < 1440) return formatPair(minutes, 60, ["h", "min"]);
  return formatPair(Math.round(span / 3_600_000), 24, ["d", "h"]);
}

function formatPair(count: number, perMajor: number, [major, minor]: readonly [string, string]): string {
  const rest = count % perMajor;
  return `${Math.floor(count / perMajor)} ${major}${rest === 0 ? "" : ` ${rest} ${minor}`}`;
}
