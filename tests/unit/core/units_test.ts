import { test } from "node:test";
import assert from "node:assert/strict";
import {
  byteChange,
  type Bytes,
  bytes,
  clockTicks,
  formatByteChange,
  formatBytes,
  formatDuration,
  milliseconds,
  parseDuration,
  parseSize,
  percent,
  sumBytes,
} from "../../../lib/core/units.ts";

const KIB = 1024;
const MIB = 1024 ** 2;
const GIB = 1024 ** 3;
const TIB = 1024 ** 4;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

test("bytes() takes whole counts from 0 to 2^53 - 1, bigints too", () => {
  assert.deepEqual([0, 1, Number.MAX_SAFE_INTEGER, 42n].map(bytes), [0, 1, Number.MAX_SAFE_INTEGER, 42]);
});

test("bytes() refuses what is no byte count", () => {
  for (const value of [-1, 0.5, NaN, Infinity, 2 ** 53, 2n ** 64n - 1n]) {
    assert.throws(() => bytes(value), {
      name: "RangeError",
      message:
        `Cannot make a byte count as it must be a whole number from 0 to 2^53 - 1: current value is ${value}`,
    });
  }
});

test("byteChange() takes whole numbers of either sign, and nothing that is not exact", () => {
  assert.deepEqual([-5, 0, Number.MAX_SAFE_INTEGER].map(byteChange), [-5, 0, Number.MAX_SAFE_INTEGER]);
  for (const value of [0.5, NaN, -(2 ** 53)]) {
    assert.throws(() => byteChange(value), {
      name: "RangeError",
      message:
        `Cannot make a byte change as it must be a whole number between -2^53 and 2^53: current value is ${value}`,
    });
  }
});

test("formatByteChange() says which way, and no way for none", () => {
  const shown = [1.5 * GIB, -20 * MIB, 0, -(GIB - 1)].map((change) => formatByteChange(byteChange(change)));
  assert.deepEqual(shown, ["+1.5 GiB", "-20 MiB", "0 B", "-1 GiB"]);
});

test("bytes() gives a type that a bare sum is not", () => {
  // @ts-expect-error: a sum of byte counts is a bare number until a constructor takes it back.
  const sum: Bytes = bytes(1) + bytes(2);
  assert.equal(sum, 3);
});

test("milliseconds() refuses what is no span of time", () => {
  assert.equal(milliseconds(0.25), 0.25);
  for (const value of [-1, NaN, Infinity]) {
    assert.throws(() => milliseconds(value), {
      name: "RangeError",
      message: `Cannot make a duration as it must be 0 ms or more: current value is ${value}`,
    });
  }
});

test("clockTicks() refuses what the kernel cannot count", () => {
  assert.equal(clockTicks(179_321), 179_321);
  for (const value of [-1, 0.5, NaN, 2 ** 53]) {
    assert.throws(() => clockTicks(value), {
      name: "RangeError",
      message:
        `Cannot make clock ticks as they must be a whole number of 0 or more: current value is ${value}`,
    });
  }
});

test("percent() refuses what is not from 0 to 100", () => {
  assert.deepEqual([0, 33.3, 100].map(percent), [0, 33.3, 100]);
  for (const value of [-0.1, 100.1, NaN, Infinity]) {
    assert.throws(() => percent(value), {
      name: "RangeError",
      message: `Cannot make a percentage as it must be from 0 to 100: current value is ${value}`,
    });
  }
});

test("sumBytes() adds up, and refuses a sum that is no longer exact", () => {
  assert.equal(sumBytes([]), 0);
  assert.equal(sumBytes([bytes(3), bytes(4)]), 7);
  assert.throws(() => sumBytes([bytes(Number.MAX_SAFE_INTEGER), bytes(1)]), RangeError);
});

test("parseSize() reads sizes as people write them", () => {
  const sizes: Record<string, number> = {
    "0": 0,
    "12B": 12,
    "10MiB": 10 * MIB,
    "1.5GiB": 1.5 * GIB,
    "1.5 GiB": 1.5 * GIB,
    " 2KiB ": 2 * KIB,
    "8TiB": 8 * TIB,
    "9007199254740991B": Number.MAX_SAFE_INTEGER,
  };
  for (const [text, count] of Object.entries(sizes)) assert.equal(parseSize(text), count, text);
});

test("parseSize() refuses what would be a guess", () => {
  for (
    const text of [
      "",
      "-1MiB",
      "1e3",
      "0x10",
      "1.MiB",
      ".5GiB",
      "1,5GiB",
      "10 MiB GiB",
    ]
  ) {
    assert.throws(() => parseSize(text), {
      name: "SyntaxError",
      message:
        `Cannot parse "${text}" as a size: expected a number with B, KiB, MiB, GiB or TiB, such as 10MiB`,
    });
  }
});

test("parseSize() takes no number without a unit but 0, and asks whether a near unit is meant", () => {
  const refused: Record<string, string> = {
    "90": "it needs a unit, such as 90MiB",
    "1.5": "it needs a unit, such as 1.5MiB",
    "00": "it needs a unit, such as 00MiB",
    "10MB": "did you mean 10MiB?",
    "10M": "did you mean 10MiB?",
    "10mib": "did you mean 10MiB?",
    "1G": "did you mean 1GiB?",
    "1 gb": "did you mean 1GiB?",
    "4b": "did you mean 4B?",
  };
  for (const [text, state] of Object.entries(refused)) {
    assert.throws(() => parseSize(text), {
      name: "SyntaxError",
      message: `Cannot parse "${text}" as a size: ${state}`,
    });
  }
});

test("parseSize() refuses more than a number can count", () => {
  for (const text of ["9007199254740992B", "8192TiB"]) {
    assert.throws(() => parseSize(text), {
      name: "SyntaxError",
      message: `Cannot parse "${text}" as a size: it must be below 2^53 bytes`,
    });
  }
});

test("parseDuration() reads durations as people write them", () => {
  const spans: Record<string, number> = {
    "0s": 0,
    "500ms": 500,
    "10s": 10_000,
    "2m": 2 * MINUTE,
    "1.5h": 1.5 * HOUR,
    "1 d": DAY,
  };
  for (const [text, span] of Object.entries(spans)) assert.equal(parseDuration(text), span, text);
});

test("parseDuration() refuses what would be a guess", () => {
  for (const text of ["", "10", "10sec", "1M", "-1s", "1m30s", "Infinitys"]) {
    assert.throws(() => parseDuration(text), {
      name: "SyntaxError",
      message: `Cannot parse "${text}" as a duration: expected a number with ms, s, m, h or d, such as 10s`,
    });
  }
});

test("formatBytes() picks the unit by what it prints, so that none reads 1024", () => {
  const shown: readonly [number, string][] = [
    [0, "0 B"],
    [1, "1 B"],
    [1023, "1023 B"],
    [KIB, "1 KiB"],
    [KIB + 51, "1 KiB"],
    [KIB + 52, "1.1 KiB"],
    [99.9 * KIB, "99.9 KiB"],
    [99.96 * KIB, "100 KiB"],
    [105.3 * KIB, "105 KiB"],
    [MIB - 1, "1 MiB"],
    [MIB - 512, "1 MiB"],
    [MIB - 513, "1023 KiB"],
    [1.5 * MIB, "1.5 MiB"],
    [518 * MIB, "518 MiB"],
    [GIB - 1, "1 GiB"],
    [2566 * MIB, "2.5 GiB"],
    [143_771 * MIB, "140 GiB"],
    [TIB - 1, "1 TiB"],
    [2.04 * TIB, "2 TiB"],
    [Number.MAX_SAFE_INTEGER, "8192 TiB"],
  ];
  assert.deepEqual(
    shown.map(([count]) => formatBytes(bytes(Math.floor(count)))),
    shown.map(([, text]) => text),
  );
});

test("formatDuration() picks the unit by what it prints, so that none reads 60 s", () => {
  const shown: readonly [number, string][] = [
    [0, "0 ms"],
    [84.6, "85 ms"],
    [999.4, "999 ms"],
    [999.5, "1 s"],
    [1000, "1 s"],
    [1249, "1.2 s"],
    [10_000, "10 s"],
    [59_949, "59.9 s"],
    [59_950, "1 min"],
    [60_499, "1 min"],
    [60_500, "1 min 1 s"],
    [2 * MINUTE - 500, "2 min"],
    [200_000, "3 min 20 s"],
    [HOUR - 501, "59 min 59 s"],
    [HOUR - 500, "1 h"],
    [HOUR, "1 h"],
    [2 * HOUR - 30_000, "2 h"],
    [125 * MINUTE, "2 h 5 min"],
    [DAY - 30_001, "23 h 59 min"],
    [DAY - 30_000, "1 d"],
    [3 * DAY + 4 * HOUR, "3 d 4 h"],
    [2 * DAY - 1, "2 d"],
  ];
  assert.deepEqual(shown.map(([span]) => formatDuration(milliseconds(span))), shown.map(([, text]) => text));
});
