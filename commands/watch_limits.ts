/** The limits of `gpuctl watch` as people write them. */
import { Option } from "@commander-js/extra-typings";
import {
  type Bytes,
  bytes,
  type Milliseconds,
  parseDuration,
  parseSize,
  percent,
} from "../lib/core/units.ts";
import type { MemoryLimit } from "../lib/model/watch.ts";
import { parsedBy } from "./options.ts";

/** Turns a rule off that is on unless told. */
export const OFF = "off";

/** The value of a limit, `undefined` where it was turned off. */
export function valueUnlessOff<T>(value: T | typeof OFF): T | undefined {
  return value === OFF ? undefined : value;
}

/** An option whose value is a duration such as `10s`, or `off`. */
export function durationOrOff<const Usage extends string>(flags: Usage, description: string, usual: string) {
  const parse = (text: string): Milliseconds | typeof OFF => text === OFF ? OFF : parseDuration(text);
  return new Option(flags, description).argParser(parsedBy(parse)).default(parse(usual), usual);
}

/**
 * Reads how much memory may be in use: a share of a GPU's, or a size.
 *
 * @throws {SyntaxError} if the text is neither.
 */
export function parseMemoryLimit(text: string): MemoryLimit {
  const [, digits] = /^(\d{1,3}(?:\.\d{1,3})?) ?%$/.exec(text.trim()) ?? [];
  if (/^\d[\d.]*$/.test(text.trim()) && text.trim() !== "0") {
    throw new SyntaxError(
      `Cannot parse "${text}" as a limit: it needs a unit, such as ${text.trim()}% or ${text.trim()}GiB`,
    );
  }
  if (digits === undefined) return { bytes: parseSize(text) };
  const share = Number(digits);
  if (share > 100) throw new SyntaxError(`Cannot parse "${text}" as a limit: a GPU has no more than 100%`);
  return { percent: percent(share) };
}

/** How long the units of a pace are, in hours. */
const HOURS: Readonly<Record<string, number>> = { s: 1 / 3600, m: 1 / 60, min: 1 / 60, h: 1, d: 24 };

/**
 * Reads a pace, `1GiB/h` or `100MiB/min`, as bytes an hour; or `off`.
 *
 * @throws {SyntaxError} if the text is no pace, or is none at all.
 */
export function parseGrowth(text: string): Bytes | typeof OFF {
  if (text === OFF) return OFF;
  const [, size, unit = ""] = /^(.+)\/\s*(s|m|min|h|d)$/.exec(text.trim()) ?? [];
  const hours = HOURS[unit];
  if (size === undefined || hours === undefined) {
    throw new SyntaxError(`Cannot parse "${text}" as a pace: expected a size a time, such as 1GiB/h, or off`);
  }
  const perHour = Math.round(parseSize(size) / hours);
  if (perHour === 0) throw new SyntaxError(`Cannot parse "${text}" as a pace: it must be more than nothing`);
  if (!Number.isSafeInteger(perHour)) {
    throw new SyntaxError(`Cannot parse "${text}" as a pace: it must be below 2^53 bytes an hour`);
  }
  return bytes(perHour);
}

/** @throws {SyntaxError} if the text is no number from 1 on. */
export function parseCount(text: string): number {
  const count = /^\d{1,12}$/.test(text) ? Number(text) : 0;
  if (count < 1) throw new SyntaxError(`Cannot parse "${text}" as a number: expected 1 or more`);
  return count;
}
