import assert from "node:assert/strict";
import { test } from "node:test";
import { HOLDER_CLASSES } from "../../../lib/model/snapshot.ts";
import { MACHINES } from "../../fixtures/machines/all.ts";
import { fatesOn } from "../../support/machine_case.ts";

for (const machine of MACHINES) {
  test(`planEnding() judges ${machine.title}`, () => {
    assert.deepEqual(fatesOn(machine), machine.expect);
  });
}

test("the labelled machines have titles of their own and show every class", () => {
  assert.equal(new Set(MACHINES.map(({ title }) => title)).size, MACHINES.length);
  const seen = new Set(MACHINES.flatMap(({ expect }) => Object.values(expect).map((fate) => fate.class)));
  assert.deepEqual(HOLDER_CLASSES.filter((name) => !seen.has(name)), []);
});
