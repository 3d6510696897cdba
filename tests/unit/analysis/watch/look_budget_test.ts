import assert from "node:assert/strict";
import { test } from "node:test";
import { LookBudget } from "../../../../lib/analysis/watch/look_budget.ts";
import { milliseconds } from "../../../../lib/core/units.ts";

test("LookBudget gives out what it has saved, and in the long run 0.4 % of the time", () => {
  const budget = new LookBudget();
  let looks = 0;
  for (let at = 0; at < 3_600_000; at += 1000) {
    if (!budget.allows(milliseconds(at))) continue;
    looks++;
    budget.spend(milliseconds(at), 50);
  }
  const most = 3_600_000 / 250 / 50 + 400 / 50 + 1;
  assert.ok(looks > 280 && looks <= most, `${looks} looks`);
});

test("LookBudget follows the first changes at once", () => {
  const budget = new LookBudget();
  const given = Array.from({ length: 12 }, () => {
    const isAllowed = budget.allows(milliseconds(0));
    if (isAllowed) budget.spend(milliseconds(0), 60);
    return isAllowed;
  });
  assert.equal(given.filter(Boolean).length, 7);
});
