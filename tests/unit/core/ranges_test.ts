import assert from "node:assert/strict";
import { test } from "node:test";
import { formatRanges, nameIndexes } from "../../../lib/core/ranges.ts";

test("formatRanges() writes runs as ranges, in order and each number once", () => {
  assert.deepEqual(formatRanges([]), []);
  assert.deepEqual(formatRanges([3]), ["3"]);
  assert.deepEqual(formatRanges([7, 2, 0, 1, 2, 4, 5]), ["0-2", "4-5", "7"]);
});

test("nameIndexes() names GPUs as --gpu takes them", () => {
  assert.equal(nameIndexes([2, 0, 3, 4]), "GPU 0,2-4");
});
