import assert from "node:assert/strict";
import { test } from "node:test";
import { milliseconds } from "../../../lib/core/units.ts";
import type { Reset } from "../../../lib/model/reset.ts";
import { formatResetStep, renderReset } from "../../../lib/render/reset_text.ts";
import { assertGolden } from "../../support/golden.ts";
import { RESETS } from "../../support/resets.ts";

for (const [name, reset] of Object.entries<Reset>(RESETS)) {
  test(`renderReset() draws ${name} as it is kept`, () => {
    assertGolden(`reset/${name}.txt`, renderReset(reset));
  });
}

test("renderReset() breaks lines for a narrow terminal, and cuts no word of a remedy", () => {
  const text = renderReset(RESETS.station, { columns: 80, hasColour: true });
  assertGolden("reset/station-80-colour.txt", text);
});

test("renderReset() lets nothing through that drives a terminal", () => {
  for (const reset of Object.values<Reset>(RESETS)) {
    // deno-lint-ignore no-control-regex -- what must not be there
    assert.doesNotMatch(renderReset(reset), /[\x00-\x09\x0b-\x1f\x7f\u202e]/);
  }
});

test("formatResetStep() says in one line what came of a step", () => {
  const step = { kind: "reset", what: "reset GPU 0", isUndo: false } as const;
  assert.deepEqual(
    [
      formatResetStep({ ...step, state: "planned" }),
      formatResetStep({ ...step, state: "done", took: milliseconds(1500) }),
      formatResetStep({ ...step, state: "failed", answer: "in use\nby \x1b[2J" }),
    ],
    ["reset GPU 0", "reset GPU 0: done (1.5 s)", "reset GPU 0: FAILED: in use; by \\u{1b}[2J"],
  );
});
