import { test } from "node:test";
import assert from "node:assert/strict";
import { absent, formatAbsent, known, mapReading, valueOf, WHYS } from "../../../lib/core/reading.ts";

test("known() and absent() tell a value from the lack of one, falsy values too", () => {
  assert.deepEqual([known(0), known(""), known(undefined)], [
    { ok: true, value: 0 },
    { ok: true, value: "" },
    { ok: true, value: undefined },
  ]);
  assert.deepEqual([absent("lost"), absent("failed", "NVML_ERROR_UNKNOWN")], [
    { ok: false, why: "lost" },
    { ok: false, why: "failed", detail: "NVML_ERROR_UNKNOWN" },
  ]);
});

test("mapReading() changes what is known and passes a reason on", () => {
  const missing = absent("timed-out", "5 s");
  assert.deepEqual(mapReading(known(2), (count) => `${count} GPUs`), known("2 GPUs"));
  assert.equal(mapReading(missing, () => assert.fail("there is nothing to change")), missing);
});

test("valueOf() gives the value, and undefined for every reason", () => {
  assert.deepEqual([known(0), ...WHYS.map((why) => absent(why))].map(valueOf), [
    0,
    ...WHYS.map(() => undefined),
  ]);
});

test("formatAbsent() has words of its own for every reason", () => {
  const words = WHYS.map((why) => formatAbsent(absent(why)));
  assert.equal(new Set(words).size, WHYS.length);
  assert.equal(formatAbsent(absent("no-permission", "/proc/812/fd")), "no permission (/proc/812/fd)");
});
