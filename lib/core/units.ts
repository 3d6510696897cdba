declare const unit: unique symbol;
type Measured<Name extends string> = number & { readonly [unit]: Name };

/** Memory, a whole number from 0 to 2^53 - 1. */
export type Bytes = Measured<"bytes">;
/** A span of time, or a monotonic moment where the name ends in `At` or is `deadline`. */
export type Milliseconds = Measured<"milliseconds">;
/** Kernel clock ticks since boot: starttime of proc_pid_stat(5), field 22. */
export type ClockTicks = Measured<"clockTicks">;
/** 0 to 100. */
export type Percent = Measured<"percent">;

const SIZE_UNITS: Readonly<Record<string, number>> = {
  "": 1,
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
 * Reads a size as people write it: `10MiB`, `1.5GiB`, `4096`. Only binary units: `MB` would be a guess.
 *
 * @throws {SyntaxError} if the text is not a size.
 */
export function parseSize(text: string): Bytes {
  const [amount, name] = splitAmount(text, SIZE_UNITS) ?? [];
  if (amount === undefined || name === undefined) {
    throw new SyntaxError(
      `Cannot parse "${text}" as a size: expected a number with B, KiB, MiB, GiB or TiB, such as 10MiB`,
    );
  }
  const count = Math.round(amount * (SIZE_UNITS[name] ?? NaN));
  if (!Number.isSafeInteger(count)) {
    throw new SyntaxError(`Cannot parse "${text}" as a size: it is larger than 2^53 bytes`);
  }
  return bytes(count);
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

const SIZE_STEPS = [["TiB", 1024 ** 4], ["GiB", 1024 ** 3], ["MiB", 1024 ** 2], ["KiB", 1024]] as const;

/** Writes a size for a person in the largest unit that leaves at least 1, with at most one decimal: `1.5 GiB`. */
export function formatBytes(count: Bytes): string {
  const [name, size] = SIZE_STEPS.find(([, size]) => count >= size) ?? ["B", 1];
  const amount = count / size;
  return `${amount >= 100 || Number.isInteger(amount) ? Math.round(amount) : amount.toFixed(1)} ${name}`;
}

/** Writes a duration for a person: `85 ms`, `1.2 s`, `3 min 20 s`, `2 h 5 min`. */
export function formatDuration(span: Milliseconds): string {
  if (span < 1000) return `${Math.round(span)} ms`;
  if (span < 60_000) return `${(span / 1000).toFixed(1)} s`;
  const [major, minor, majorName, minorName] = span < 3_600_000
    ? [Math.floor(span / 60_000), Math.round(span % 60_000 / 1000), "min", "s"]
    : [Math.floor(span / 3_600_000), Math.round(span % 3_600_000 / 60_000), "h", "min"];
  return minor === 0 ? `${major} ${majorName}` : `${major} ${majorName} ${minor} ${minorName}`;
}
