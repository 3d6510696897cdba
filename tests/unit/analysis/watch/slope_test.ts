import assert from "node:assert/strict";
import { test } from "node:test";
import { risesAllAlong, robustSlope, stillRises } from "../../../../lib/analysis/watch/slope.ts";
import { milliseconds } from "../../../../lib/core/units.ts";

function series(value: (place: number) => number, length = 48) {
  return Array.from({ length }, (_, place) => ({ at: milliseconds(place * 1000), value: value(place) }));
}

test("robustSlope() is the slope of a line, whatever a fifth of its points are", () => {
  assert.equal(robustSlope(series((place) => 5 + place * 3)), 0.003);
  assert.equal(robustSlope(series((place) => place % 5 === 2 ? 1e12 : place * 3)), 0.003);
  assert.equal(robustSlope(series(() => 7)), 0);
  assert.equal(robustSlope(series(() => 7, 1)), undefined);
});

test("risesAllAlong() knows a ramp, a staircase and a noisy ramp", () => {
  assert.equal(risesAllAlong(series((place) => place)), true);
  assert.equal(risesAllAlong(series((place) => Math.floor(place / 5))), true);
  assert.equal(risesAllAlong(series((place) => place * 10 + (place % 2 === 0 ? 20 : -20))), true);
});

test("risesAllAlong() knows no growth in steps, plateaus, falls, or too few points", () => {
  assert.equal(risesAllAlong(series((place) => place < 20 ? 1 : 100)), false);
  assert.equal(risesAllAlong(series((place) => place < 10 ? 1 : place < 30 ? 50 : 100)), false);
  assert.equal(risesAllAlong(series((place) => Math.min(place, 24))), false);
  assert.equal(risesAllAlong(series((place) => -place)), false);
  assert.equal(risesAllAlong(series((place) => place, 20)), false);
});

test("risesAllAlong() does not take a breath of noise for the step that is missing", () => {
  const heights = [0, 1000, 2000, 3000, 4000, 4001];
  assert.equal(risesAllAlong(series((place) => heights[Math.floor(place / 8)] ?? 0)), false);
  assert.equal(risesAllAlong(series((place) => Math.floor(place / 8) * 1000)), true);
});

test("stillRises() is about the later half alone", () => {
  assert.equal(stillRises(series((place) => Math.max(place, 30))), true);
  assert.equal(stillRises(series((place) => Math.min(place, 12))), false);
});
