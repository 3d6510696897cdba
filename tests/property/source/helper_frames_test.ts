import { test } from "node:test";
import assert from "node:assert/strict";
import fc from "fast-check";
import { gpuIndex, parseBusId } from "../../../lib/core/ids.ts";
import { known, type Reading } from "../../../lib/core/reading.ts";
import type { DriverReport } from "../../../lib/model/gpu.ts";
import { FABRIC_STATES, type GpuHealth, VIRTUALIZATION_MODES } from "../../../lib/model/gpu_health.ts";
import {
  AnswerWriter,
  encodeQuestion,
  parseAnswer,
  parseQuestion,
} from "../../../lib/source/helper/frames.ts";
import { DRIVER } from "../../support/driver_reports.ts";
import { anyAbsent, anySnapshot } from "../../support/snapshots.ts";

const EVERY_KEY = { noNullPrototype: true } as const;

function anyReading<T>(value: fc.Arbitrary<T>): fc.Arbitrary<Reading<T>> {
  return fc.oneof(anyAbsent, value.map(known));
}

const anyBusId = fc.tuple(fc.nat(0xffff_ffff), fc.nat(255), fc.nat(31)).map(([domain, bus, device]) =>
  parseBusId(`${domain.toString(16)}:${bus.toString(16)}:${device.toString(16)}`)
);
const anyHealth: fc.Arbitrary<GpuHealth> = fc.record({
  ecc: anyReading(fc.record({ current: fc.boolean(), pending: fc.boolean() }, EVERY_KEY)),
  uncorrectedErrors: anyReading(fc.maxSafeNat()),
  remappedRows: anyReading(fc.record({
    correctable: fc.nat(),
    uncorrectable: fc.nat(),
    isPending: fc.boolean(),
    hasFailed: fc.boolean(),
  }, EVERY_KEY)),
  hasRetirementPending: anyReading(fc.boolean()),
  nvlinkPeers: anyReading(fc.array(anyBusId)),
  hasNvSwitch: anyReading(fc.boolean()),
  virtualization: anyReading(fc.constantFrom(...VIRTUALIZATION_MODES)),
  fabric: anyReading(
    fc.record({ state: fc.constantFrom(...FABRIC_STATES), status: fc.integer() }, EVERY_KEY),
  ),
  smClockMegahertz: anyReading(fc.nat()),
  architecture: anyReading(fc.string()),
}, EVERY_KEY);

const anyReport: fc.Arbitrary<Reading<DriverReport>> = fc.oneof(
  anyAbsent,
  fc.tuple(
    anySnapshot,
    fc.array(fc.tuple(fc.integer({ min: 0, max: 65_535 }), anyAbsent)),
    fc.option(anyHealth, { nil: undefined }),
  ).map(
    ([{ driver, gpus }, unreadable, health]) =>
      known({
        driver: driver.ok ? driver.value : DRIVER,
        gpus: gpus.map(({ gpu }) => ({ ...gpu, ...health && { health } })),
        unreadableGpus: unreadable.map(([index, reason]) => ({ index: gpuIndex(index), reason })),
      }),
  ),
);

test("parseAnswer() gives back what AnswerWriter wrote: no value and no reason is lost", () => {
  fc.assert(fc.property(anyReport, fc.nat(), (report, id) => {
    const line = new AnswerWriter().encode(id, report);
    assert.equal(line.indexOf("\n"), line.length - 1);
    assert.deepEqual(parseAnswer(line), { id, report });
  }));
});

test("parseQuestion() gives back what encodeQuestion() wrote, and what is not asked for takes no bytes", () => {
  const health = fc.constantFrom({}, { withHealth: true } as const);
  fc.assert(fc.property(fc.nat(), fc.boolean(), health, (id, withUtilization, extra) => {
    const question = { id, withUtilization, ...extra };
    const line = encodeQuestion(question);
    assert.deepEqual(parseQuestion(line), question);
    assert.equal(line.includes("ealth"), "withHealth" in extra);
  }));
});

test("AnswerWriter says `same` for a report that is the last one's equal, and only then", () => {
  fc.assert(fc.property(fc.array(anyReport, { minLength: 1, maxLength: 4 }), (reports) => {
    const answers = new AnswerWriter();
    let last: Reading<DriverReport> | undefined;
    for (const report of reports.flatMap((each) => [each, structuredClone(each)])) {
      const answer = parseAnswer(answers.encode(1, report));
      assert.deepEqual(answer.report === "same" ? last : answer.report, report);
      assert.equal(answer.report === "same", JSON.stringify(report) === JSON.stringify(last));
      last = report;
    }
  }));
});

test("parseAnswer() ends on any text and any JSON: with an answer or with a SyntaxError or RangeError", () => {
  const valid = anyReport.map((report) => new AnswerWriter().encode(1, report));
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
