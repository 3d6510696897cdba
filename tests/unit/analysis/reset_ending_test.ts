import assert from "node:assert/strict";
import { test } from "node:test";
import { endingOfReset } from "../../../lib/analysis/reset_ending.ts";
import { type Blocker, RESET_OUTCOMES } from "../../../lib/model/reset.ts";

const NOT_ROOT: Blocker = { kind: "not-root", who: "", why: "", remedy: "", clearedBy: "nobody" };

test("endingOfReset() is a finding for a plan and ok only when the GPU is back", () => {
  assert.deepEqual(RESET_OUTCOMES.map((outcome) => [outcome, endingOfReset({ outcome, blockers: [] })]), [
    ["plan", "finding"],
    ["blocked", "refused"],
    ["done", "ok"],
    ["failed", "partial"],
    ["not-back", "partial"],
    ["interrupted", "partial"],
  ]);
});

test("endingOfReset() says that only root may do it, but not of a plan", () => {
  assert.equal(endingOfReset({ outcome: "blocked", blockers: [NOT_ROOT] }), "denied");
  assert.equal(endingOfReset({ outcome: "plan", blockers: [NOT_ROOT] }), "finding");
});
