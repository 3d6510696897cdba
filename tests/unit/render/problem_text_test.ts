import assert from "node:assert/strict";
import { test } from "node:test";
import { absent } from "../../../lib/core/reading.ts";
import { formatProblem } from "../../../lib/render/problem_text.ts";

test("formatProblem() gives a reason once: behind the sentence, unless the sentence has it", () => {
  const few = absent("no-permission", "1 of 194 processes");
  assert.equal(
    formatProblem({ message: "GPU 3 cannot be read", reason: absent("lost") }),
    "GPU 3 cannot be read [the GPU has fallen off the bus]",
  );
  assert.equal(
    formatProblem({ message: "The descriptors of 1 of 194 processes cannot be listed", reason: few }),
    "The descriptors of 1 of 194 processes cannot be listed",
  );
  assert.equal(
    formatProblem({ message: "The metrics are old", reason: few }, [": ", ""]),
    "The metrics are old: no permission (1 of 194 processes)",
  );
});
