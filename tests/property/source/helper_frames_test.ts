import { test } from "node:test";
import assert from "node:assert/strict";
import fc from "fast-check";
import { gpuIndex } from "../../../lib/core/ids.ts";
import { known, type Reading } from "../../../lib/core/reading.ts";
import type { DriverReport } from "../../../lib/model/gpu.ts";
import { encodeAnswer, parseAnswer } from "../../../lib/source/helper/frames.ts";
import { DRIVER } from "../../support/driver_reports.ts";
import { anyAbsent, anySnapshot } from "../../support/snapshots.ts";

const anyReport: fc.Arbitrary<Reading<DriverReport>> = fc.oneof(
  anyAbsent,
  fc.tuple(anySnapshot, fc.array(fc.tuple(fc.integer({ min: 0, max: 65_535 }), anyAbsent))).map(
    ([{ driver, gpus }, unreadable]) =>
      known({
        driver: driver.ok ? driver.value : DRIVER,
        gpus: gpus.map(({ gpu }) => gpu),
        unreadableGpus: unreadable.map(([index, reason]) => ({ index: gpuIndex(index), reason })),
      }),
  ),
);

test("parseAnswer() gives back what encodeAnswer() wrote: no value and no reason is lost", () => {
  fc.assert(fc.property(anyReport, fc.nat(), (report, id) => {
    const line = encodeAnswer({ id, report });
    assert.equal(line.indexOf("\n"), line.length - 1);
    assert.deepEqual(parseAnswer(line), { id, report });
  }));
});

test("parseAnswer() ends on any text and any JSON: with an answer or with a SyntaxError or RangeError", () => {
  const valid = anyReport.map((report) => encodeAnswer({ id: 1, report }));
  const damaged = fc.tuple(valid, fc.nat(), fc.string({ maxLength: 3 })).map(([text, at, put]) =>
    text.slice(0, at % text.length) + put + text.slice(at % text.length + put.length)
  );
  fc.assert(fc.property(fc.oneof(fc.string(), fc.json(), damaged), (text) => {
    try {
      parseAnswer(text);
    } catch (error) {
      assert.ok(error instanceof SyntaxError || error instanceof RangeError);
    }
  }));
});
