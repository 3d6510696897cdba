import { test } from "node:test";
import assert from "node:assert/strict";
import fc from "fast-check";
import { bytes, formatBytes, formatDuration, milliseconds, parseSize } from "../../../lib/core/units.ts";

const byteCounts = fc.oneof(
  fc.maxSafeNat().map(bytes),
  fc.tuple(fc.constantFrom(1, 2, 3, 4), fc.integer({ min: -2000, max: 2000 }))
    .map(([power, offset]) => bytes(Math.max(0, 1024 ** power + offset))),
);
const spans = fc.oneof(
  fc.double({ min: 0, max: 1e12, noNaN: true }),
  fc.tuple(fc.constantFrom(1e3, 6e4, 3.6e6, 8.64e7), fc.double({ min: -1000, max: 1000, noNaN: true }))
    .map(([seam, offset]) => Math.max(0, seam + offset)),
).map(milliseconds);

test("formatBytes() prints a size that parseSize() reads back to within its last digit", () => {
  fc.assert(fc.property(byteCounts, (count) => {
    const text = formatBytes(count);
    assert.match(
      text,
      /^(\d{1,2}(\.[1-9])?|\d{3}|10[01]\d|102[0-3]) (B|KiB|MiB|GiB)$|^\d{1,4}(\.[1-9])? TiB$/,
    );
    const unit = parseSize(`1${text.slice(text.indexOf(" "))}`);
    const step = count < 99.95 * unit ? unit / 10 : unit;
    // 2^53 - 1 itself rounds up to 8192 TiB, which is one more than a byte count may be.
    if (text !== "8192 TiB") assert.ok(Math.abs(parseSize(text) - count) <= step / 2 + 1, text);
  }));
});

test("formatBytes() never shows a larger count as a smaller one", () => {
  fc.assert(fc.property(byteCounts, byteCounts, (a, b) => {
    const [less, more] = [Math.min(a, b), Math.max(a, b)].map((count) => sizeOf(formatBytes(bytes(count))));
    assert.ok(less !== undefined && more !== undefined && less <= more);
  }));
});

test("formatDuration() prints a span that adds up to within its last unit, each part below its limit", () => {
  fc.assert(fc.property(spans, (span) => {
    const text = formatDuration(span);
    const parts = [...text.matchAll(/([\d.]+) (ms|s|min|h|d)\b/g)].map(([, amount, name = ""]) => {
      const unit = SPAN_UNITS[name];
      assert.ok(unit, text);
      assert.ok(Number(amount) < unit.limit, text);
      return {
        millis: Number(amount) * unit.millis,
        step: amount?.includes(".") ? unit.millis / 10 : unit.millis,
      };
    });
    assert.equal(text.replaceAll(/([\d.]+) (ms|s|min|h|d)\b ?/g, ""), "");
    const total = parts.reduce((sum, { millis }) => sum + millis, 0);
    // A part that is exactly 0 is left out, so the smallest unit shown may be larger than the one rounded to.
    assert.ok(Math.abs(total - span) <= (parts.at(-1)?.step ?? 0) / 2 + 1e-3, `${span} as ${text}`);
  }));
});

test("formatDuration() never shows a longer span as a shorter one", () => {
  fc.assert(fc.property(spans, spans, (a, b) => {
    const [less, more] = [Math.min(a, b), Math.max(a, b)].map((span) =>
      spanOf(formatDuration(milliseconds(span)))
    );
    assert.ok(less !== undefined && more !== undefined && less <= more + 1e-6);
  }));
});

const SPAN_UNITS: Readonly<Record<string, { readonly millis: number; readonly limit: number }>> = {
  ms: { millis: 1, limit: 1000 },
  s: { millis: 1000, limit: 60 },
  min: { millis: 60_000, limit: 60 },
  h: { millis: 3_600_000, limit: 24 },
  d: { millis: 86_400_000, limit: Infinity },
};

function spanOf(text: string): number {
  return [...text.matchAll(/([\d.]+) ([a-z]+)/g)]
    .reduce((sum, [, amount, name = ""]) => sum + Number(amount) * (SPAN_UNITS[name]?.millis ?? NaN), 0);
}

/** As parseSize(), without its limit: the largest count prints as 8192 TiB, which is one byte too many. */
function sizeOf(text: string): number {
  const [amount, name = ""] = text.split(" ");
  return Number(amount) * 1024 ** ["B", "KiB", "MiB", "GiB", "TiB"].indexOf(name);
}
