import assert from "node:assert/strict";
import { test } from "node:test";
import { findStamp } from "../../../../lib/source/smi/stamps.ts";

test("findStamp() reads the moment of a table and of a query, without a zone", () => {
  assert.equal(findStamp("Tue Dec  5 14:12:11 2017       "), "2017-12-05T14:12:11");
  assert.equal(findStamp("2026/07/14 09:00:44.742"), "2026-07-14T09:00:44.742");
});

test("findStamp() finds none in other text, nor in a moment that cannot be", () => {
  const texts = [
    "",
    "Tue Foo 14 16:14:32 2021",
    "2026/13/14 09:00:44.742",
    "Mon Dec 14 99:14:32 2021",
    "2026-07-14",
  ];
  assert.deepEqual(new Set(texts.map(findStamp)), new Set([undefined]));
});
