import assert from "node:assert/strict";
import { test } from "node:test";
import { IsolationTally } from "../../../lib/analysis/isolation_tally.ts";
import { absent } from "../../../lib/core/reading.ts";
import { milliseconds } from "../../../lib/core/units.ts";
import { observe } from "../../support/machine.ts";

const look = (gpus: number) =>
  observe({ gpus: Array.from({ length: gpus }, () => ({})), processes: [] }).report;

test("IsolationTally counts as a gap also what passed after the last look", () => {
  const tally = new IsolationTally();
  tally.add({ at: milliseconds(10), report: look(1) });
  tally.add({ at: milliseconds(50), report: look(1) });
  assert.equal(tally.longestGap, 40);
  tally.add({ at: milliseconds(100), report: absent("timed-out") });
  tally.end(milliseconds(300));
  assert.equal(tally.longestGap, 250);
});

test("IsolationTally keeps every GPU that some look showed", () => {
  const tally = new IsolationTally();
  tally.add({ at: milliseconds(0), report: look(2) });
  tally.add({ at: milliseconds(100), report: look(3) });
  tally.add({ at: milliseconds(200), report: look(1) });
  assert.deepEqual(tally.gpus.map(({ index }) => index), [0, 1, 2]);
});
