import assert from "node:assert/strict";
import { test } from "node:test";
import { parseCount, parseGrowth, parseMemoryLimit, valueUnlessOff } from "../../../commands/watch_limits.ts";

const GIB = 1024 ** 3;

test("parseMemoryLimit() reads a share or a size", () => {
  assert.deepEqual(["90%", " 12.5 %", "100%", "70GiB"].map(parseMemoryLimit), [
    { percent: 90 },
    { percent: 12.5 },
    { percent: 100 },
    { bytes: 70 * GIB },
  ]);
  assert.throws(() => parseMemoryLimit("101%"), {
    message: 'Cannot parse "101%" as a limit: a GPU has no more than 100%',
  });
  assert.throws(() => parseMemoryLimit("much"), SyntaxError);
  assert.throws(() => parseMemoryLimit("90"), {
    message: 'Cannot parse "90" as a limit: it needs a unit, such as 90% or 90GiB',
  });
});

test("parseGrowth() reads a pace as bytes an hour", () => {
  assert.deepEqual(["1GiB/h", "1GiB/min", "2 GiB/m", "1GiB / s", "24GiB/d", "off"].map(parseGrowth), [
    GIB,
    60 * GIB,
    120 * GIB,
    3600 * GIB,
    GIB,
    "off",
  ]);
  assert.throws(() => parseGrowth("1GiB"), {
    message: 'Cannot parse "1GiB" as a pace: expected a size a time, such as 1GiB/h, or off',
  });
  assert.throws(() => parseGrowth("0GiB/h"), {
    message: 'Cannot parse "0GiB/h" as a pace: it must be more than nothing',
  });
  assert.throws(() => parseGrowth("8000TiB/s"), SyntaxError);
  assert.throws(() => parseGrowth("5/h"), {
    message: 'Cannot parse "5" as a size: it needs a unit, such as 5MiB',
  });
});

test("parseCount() reads a number from 1 on", () => {
  assert.equal(parseCount("10000"), 10_000);
  for (const text of ["0", "-1", "1.5", "", "x"]) assert.throws(() => parseCount(text), SyntaxError);
});

test("valueUnlessOff() is the value, or nothing", () => {
  assert.deepEqual([valueUnlessOff(5), valueUnlessOff("off")], [5, undefined]);
});
