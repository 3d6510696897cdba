import assert from "node:assert/strict";
import { test } from "node:test";
import { gpuIndex } from "../../../lib/core/ids.ts";
import { known } from "../../../lib/core/reading.ts";
import { milliseconds } from "../../../lib/core/units.ts";
import { type Blocker, type Reset, RESET_OUTCOMES, type ResetOutcome } from "../../../lib/model/reset.ts";
import { journalReset } from "../../../lib/render/reset_journal.ts";
import { uuidOf } from "../../support/machine.ts";
import { plannedStep } from "../../support/reset_steps.ts";

const PLAN: Reset = {
  takenAt: "2026-11-30T12:00:00.000Z",
  simulated: false,
  needs: [{
    gpu: uuidOf(0),
    index: gpuIndex(0),
    name: known("NVIDIA H200"),
    advice: "reset",
    reasons: [],
    processes: [],
  }],
  blockers: [],
  steps: [],
  results: [],
  outcome: "plan",
  problems: [],
};

function blocker(clearedBy: Blocker["clearedBy"], who: string): Blocker {
  return { kind: "holder", who, why: "has memory on it", remedy: "end it: kill 7", clearedBy };
}

test("journalReset() writes a line for each step that was tried, failures as errors, and then the end", () => {
  const steps = [
    { ...plannedStep("persistence-off"), state: "done", took: milliseconds(20) },
    {
      ...plannedStep("reset"),
      state: "failed",
      took: milliseconds(4000),
      answer: "the GPU is in use\nraw\u001b[2J",
    },
    { ...plannedStep("persistence-on", { isUndo: true }), state: "timed-out" },
    { ...plannedStep("read-again"), state: "skipped" },
  ] as const;
  assert.equal(
    journalReset({ ...PLAN, outcome: "failed", steps }),
    "<5>do persistence-off: done (20 ms)\n" +
      "<3>do reset: FAILED (4 s): the GPU is in use; raw\\u{1b}[2J\n" +
      "<3>do persistence-on: NO ANSWER IN TIME\n" +
      "<3>FAILED: cannot do reset: the GPU is in use.\n" +
      "<3>NOT PUT BACK, do it by hand: do persistence-on.\n",
  );
});

test("journalReset() names what is in the way, and nothing that is merely lost or cleared by the plan", () => {
  const blockers = [
    blocker("nobody", "PID 7 (x\n<0>forged)"),
    blocker("evict", "PID 8"),
    blocker("stop-services", "dcgm.service"),
    blocker("plan", "persistence mode"),
    blocker("warning", "settings"),
  ];
  assert.deepEqual(journalReset({ ...PLAN, outcome: "blocked", blockers }).split("\n").slice(0, 3), [
    "<4>in the way: PID 7 (x\\u{a}<0>forged): has memory on it; end it: kill 7",
    "<4>in the way: PID 8: has memory on it; end it: kill 7",
    "<4>in the way: dcgm.service: has memory on it; end it: kill 7",
  ]);
  assert.match(journalReset({ ...PLAN, outcome: "done", blockers }), /^<5>DONE: [^\n]*\n$/);
});

test("journalReset() gives every outcome its priority", () => {
  const priorities = new Map<ResetOutcome, number>([
    ["plan", 6],
    ["blocked", 4],
    ["done", 5],
    ["failed", 3],
    ["not-back", 3],
    ["interrupted", 4],
  ]);
  assert.deepEqual(new Set(priorities.keys()), new Set(RESET_OUTCOMES));
  for (const [outcome, priority] of priorities) {
    const lines = journalReset({ ...PLAN, outcome }).trimEnd().split("\n");
    assert.deepEqual(new Set(lines.map((line) => line.slice(0, 3))), new Set([`<${priority}>`]), outcome);
  }
});
