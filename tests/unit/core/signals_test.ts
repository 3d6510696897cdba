import assert from "node:assert/strict";
import { constants } from "node:os";
import { test } from "node:test";
import { formatSignal } from "../../../lib/core/signals.ts";

/** Other names for signals that have another one already (signal(7)). */
const SYNONYMS = new Set(["SIGIOT", "SIGPOLL", "SIGUNUSED"]);

test("formatSignal() names signals as the system does", () => {
  for (const [name, number] of Object.entries(constants.signals)) {
    if (!SYNONYMS.has(name)) assert.equal(formatSignal(number), name);
  }
});

test("formatSignal() counts real-time signals from the first that programs may use", () => {
  assert.deepEqual([33, 34, 35, 64].map(formatSignal), [
    "signal 33",
    "SIGRTMIN",
    "SIGRTMIN+1",
    "SIGRTMIN+30",
  ]);
});
