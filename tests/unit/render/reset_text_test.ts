import assert from "node:assert/strict";
import { test } from "node:test";
import { gpuIndex } from "../../../lib/core/ids.ts";
import { milliseconds } from "../../../lib/core/units.ts";
import type { Reset } from "../../../lib/model/reset.ts";
import { formatResetStep, renderReset } from "../../../lib/render/reset_text.ts";
import { assertGolden } from "../../support/golden.ts";
import { uuidOf } from "../../support/machine.ts";
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

test("renderReset() says once what is to be said of several GPUs", () => {
  const { needs: [need], ...reset } = RESETS["nothing-to-mend"];
  assert.ok(need);
  const others = [1, 2, 4].map((index) => ({ ...need, gpu: uuidOf(index), index: gpuIndex(index) }));
  const worse = { ...need, gpu: uuidOf(3), index: gpuIndex(3), advice: "reboot" } as const;
  const text = renderReset({ ...reset, needs: [need, ...others, worse] });
  assert.deepEqual(text.match(/^GPU \d.*$/gm), [
    "GPU 0-2,4  NVIDIA H200: nothing that a reset would mend",
    "GPU 3  NVIDIA H200: only a reboot helps",
  ]);
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
