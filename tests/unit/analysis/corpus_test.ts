import assert from "node:assert/strict";
import { test } from "node:test";
import { HOLDER_CLASSES } from "../../../lib/model/snapshot.ts";
import { CONTAINERS } from "../../fixtures/machines/containers.ts";
import { DETACHED } from "../../fixtures/machines/detached.ts";
import { GHOSTS } from "../../fixtures/machines/ghosts.ts";
import { JOBS } from "../../fixtures/machines/jobs.ts";
import { LAUNCHERS } from "../../fixtures/machines/launchers.ts";
import { MONITORS } from "../../fixtures/machines/monitors.ts";
import { MPS } from "../../fixtures/machines/mps.ts";
import { NOTEBOOKS } from "../../fixtures/machines/notebooks.ts";
import { ODD } from "../../fixtures/machines/odd.ts";
import { ORPHANS } from "../../fixtures/machines/orphans.ts";
import { ROLES } from "../../fixtures/machines/roles.ts";
import { fatesOn } from "../../support/machine_case.ts";

const MACHINES = [
  ...[
    ...GHOSTS,
    ...ORPHANS,
    ...LAUNCHERS,
    ...JOBS,
    ...CONTAINERS,
    ...ROLES,
    ...MONITORS,
    ...DETACHED,
    ...MPS,
  ],
  ...[...NOTEBOOKS, ...ODD],
];

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
