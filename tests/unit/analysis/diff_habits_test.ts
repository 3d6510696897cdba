import assert from "node:assert/strict";
import { test } from "node:test";
import { explainHabits, type FrameworkUse } from "../../../lib/analysis/diff_habits.ts";
import { pid } from "../../../lib/core/ids.ts";
import { known } from "../../../lib/core/reading.ts";
import { bytes, milliseconds } from "../../../lib/core/units.ts";

function use(id: number, framework: FrameworkUse["framework"], highFromMs: number | undefined): FrameworkUse {
  return {
    pid: pid(id),
    framework,
    use: {
      peak: known(bytes(12 * 1024 ** 3)),
      firstAt: milliseconds(0),
      lastAt: milliseconds(10_000),
      highSince: highFromMs === undefined ? undefined : milliseconds(highFromMs),
    },
  };
}

test("explainHabits() explains JAX when it kept its memory to the end", () => {
  assert.deepEqual(explainHabits([use(812, "JAX", 1000)]), [
    "PID 812 kept its peak of 12 GiB until it ended. That is no leak: JAX returns memory only at exit. Deleting arrays " +
    "gives nothing back to the GPU. To free it earlier, run the GPU part in a child process. " +
    "XLA_PYTHON_CLIENT_PREALLOCATE=false makes it take less from the start.",
  ]);
});

test("explainHabits() says one sentence for all processes of a framework", () => {
  const [sentence = "", ...more] = explainHabits([
    use(5, "PyTorch", 0),
    use(6, "PyTorch", 0),
    use(7, "PyTorch", 0),
  ]);

  assert.match(sentence, /^PID 5 and 2 more kept its peak/);
  assert.deepEqual(more, []);
});

test("explainHabits() is silent about a process that gave memory back, was quick, or runs no known framework", () => {
  assert.deepEqual(explainHabits([use(1, "JAX", undefined), use(2, "JAX", 9000), use(3, undefined, 0)]), []);
});
