import assert from "node:assert/strict";
import { test } from "node:test";
import { CHECKS } from "../../../lib/analysis/doctor/checks.ts";
import type { Diagnosis } from "../../../lib/model/doctor.ts";
import { renderCheckList, renderDiagnosis } from "../../../lib/render/doctor_text.ts";
import { DIAGNOSES } from "../../support/diagnoses.ts";
import { assertGolden } from "../../support/golden.ts";

for (const [name, diagnosis] of Object.entries<Diagnosis>(DIAGNOSES)) {
  test(`renderDiagnosis() draws ${name} as it is kept`, () => {
    assertGolden(`doctor/${name}.txt`, renderDiagnosis(diagnosis));
  });
}

test("renderDiagnosis() breaks lines for a narrow terminal, and colours what is wrong", () => {
  const screen = { columns: 80, hasColour: true };
  assertGolden("doctor/wounded-80-colour.txt", renderDiagnosis(DIAGNOSES.wounded, { screen }));
});

test("renderDiagnosis() is quiet about all but findings, and says nothing where there are none", () => {
  assertGolden("doctor/hanging-quiet.txt", renderDiagnosis(DIAGNOSES.hanging, { isQuiet: true }));
  assert.equal(renderDiagnosis(DIAGNOSES.well, { isQuiet: true }), "");
});

test("renderDiagnosis() lets nothing through that drives a terminal", () => {
  for (const diagnosis of Object.values<Diagnosis>(DIAGNOSES)) {
    // deno-lint-ignore no-control-regex -- what must not be there
    assert.doesNotMatch(renderDiagnosis(diagnosis), /[\x00-\x09\x0b-\x1f\x7f\u202e]/);
  }
});

test("renderDiagnosis() says of checks that all do not apply that nothing was found out", () => {
  const checks = DIAGNOSES.well.checks.filter(({ status }) => status === "skipped");
  const [last] = renderDiagnosis({ ...DIAGNOSES.well, checks }).trimEnd().split("\n").slice(-1);
  assert.equal(last, "None of these checks applies here, so nothing was found out.");
});

test("renderCheckList() lists every check with what is so when all is well", () => {
  const lines = renderCheckList(CHECKS).trimEnd().split("\n");
  assert.deepEqual([lines.length, lines[0], lines[1]], [
    CHECKS.length + 1,
    "CHECK                        ALL IS WELL WHEN",
    "driver.module-loaded         the NVIDIA kernel module is loaded",
  ]);
});
