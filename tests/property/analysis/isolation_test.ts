import { test } from "node:test";
import assert from "node:assert/strict";
import fc from "fast-check";
import { absent } from "../../../lib/core/reading.ts";
import { judgeIsolation } from "../../../lib/analysis/isolation.ts";
import { encodeIsolation } from "../../../lib/model/isolation_json.ts";
import { assertDocument } from "../../support/documents.ts";
import { type CaseSpec, type GpuSpec, isolationCase } from "../../unit/analysis/isolation_case.ts";
import { A, B } from "../../unit/analysis/visible_devices_machine.ts";

const context = fc.record({
  pid: fc.integer({ min: 11, max: 14 }),
  mib: fc.oneof(fc.nat({ max: 900 }), fc.constant(absent("not-reported"))),
  kind: fc.constantFrom("compute" as const, "mps-client" as const),
});
const gpu: fc.Arbitrary<GpuSpec> = fc.record({
  contexts: fc.array(context, { maxLength: 3 }),
  list: fc.constantFrom(
    "known" as const,
    "known" as const,
    "known" as const,
    "incomplete" as const,
    "unknown" as const,
  ),
  usedMib: fc.oneof(fc.nat({ max: 2000 }), fc.constant(absent("lost"))),
});
const look = fc.oneof(
  { weight: 8, arbitrary: fc.tuple(gpu, gpu) },
  { weight: 1, arbitrary: fc.constant(absent("timed-out")) },
);
const processes = fc.uniqueArray(
  fc.record({
    pid: fc.integer({ min: 11, max: 14 }),
    environment: fc.oneof(
      fc.constant("erased" as const),
      fc.record({
        CUDA_VISIBLE_DEVICES: fc.string({ unit: "binary", maxLength: 6 }),
        LOCAL_RANK: fc.constantFrom("0", "1"),
      }),
      fc.constant({}),
    ),
  }),
  { selector: ({ pid }) => pid },
);
const cases: fc.Arbitrary<CaseSpec> = fc.record({
  allowed: fc.subarray([{ gpu: A }, { gpu: B }]),
  thresholdMib: fc.nat({ max: 500 }),
  looks: fc.array(look, { maxLength: 4 }),
  processes,
  others: fc.subarray([11, 12]),
  unplaced: fc.subarray([13]),
});

test("judgeIsolation() never says isolated with one look or one GPU unread, or one list unknown", () => {
  fc.assert(fc.property(cases, (spec) => {
    const { verdict } = judgeIsolation(isolationCase(spec));
    const isAllSeen = spec.looks.length > 0 &&
      spec.looks.every((each) => !("ok" in each) && each.every(({ list }) => list === "known"));
    if (!isAllSeen) assert.notEqual(verdict, "isolated");
  }));
});

test("judgeIsolation() says isolated only if no context of the job above the threshold stands on a GPU not its own", () => {
  fc.assert(fc.property(cases, (spec) => {
    if (judgeIsolation(isolationCase(spec)).verdict !== "isolated") return;
    for (const each of spec.looks) {
      const gpus = "ok" in each ? [] : each;
      const strays = gpus.filter((_, index) => !spec.allowed?.some(({ gpu }) => gpu === [A, B][index]))
        .flatMap(({ contexts = [] }) => contexts).filter(({ pid }) => !spec.others?.includes(pid));
      for (const { mib } of strays) assert.ok(typeof mib === "number" && mib <= (spec.thresholdMib ?? 0));
    }
  }));
});

test("judgeIsolation() holds on to a violation whatever else could not be seen", () => {
  fc.assert(fc.property(cases, (spec) => {
    const before = judgeIsolation(isolationCase(spec));
    const after = judgeIsolation(
      isolationCase({
        ...spec,
        looks: [...spec.looks, absent("timed-out")],
        untold: absent("no-permission"),
      }),
    );
    assert.deepEqual(after.violations, before.violations);
    assert.equal(after.verdict, before.violations.length > 0 ? "violated" : "unproven");
  }));
});

test("judgeIsolation() gives every violation a cause, its reason and a fix, and every doubt its sentence", () => {
  fc.assert(fc.property(cases, (spec) => {
    const { violations, problems, notes } = judgeIsolation(isolationCase(spec));
    for (const { explanation, fix, contextBytes } of violations) {
      assert.ok(explanation && fix && contextBytes > 0);
    }
    for (const { message } of problems) assert.ok(message);
    assert.ok(
      [...notes, ...violations.map(({ explanation }) => explanation)].every((text) => !/\p{Cc}/u.test(text)),
    );
  }));
});

test("encodeIsolation() writes what the printed schema says, whatever was seen", () => {
  fc.assert(fc.property(cases, fc.boolean(), (spec, simulated) => {
    assertDocument(encodeIsolation(judgeIsolation(isolationCase(spec)), { simulated }));
  }));
});
