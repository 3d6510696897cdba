import { test } from "node:test";
import assert from "node:assert/strict";
import { deviceMinor } from "../../../lib/core/ids.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import { hasInheritedNodes, joinUses } from "../../../lib/proc/uses.ts";

const GPU = { kind: "gpu", minor: deviceMinor(1) } as const;
const OTHER_GPU = { kind: "gpu", minor: deviceMinor(2) } as const;
const UVM = { kind: "uvm" } as const;

test("joinUses() counts descriptors and mappings of each node, and keeps what is only mapped", () => {
  const held = [{ node: GPU, descriptors: [3, 4] }, { node: UVM, descriptors: [9] }];
  const mappings = known([{ node: GPU, lines: 3 }, { node: OTHER_GPU, lines: 1 }]);
  assert.deepEqual(joinUses(held, mappings), [
    { node: GPU, descriptors: 2, mappings: known(3) },
    { node: UVM, descriptors: 1, mappings: known(0) },
    { node: OTHER_GPU, descriptors: 0, mappings: known(1) },
  ]);
});

test("joinUses() does not call mappings 0 that could not be read", () => {
  const reason = absent("timed-out");
  assert.deepEqual(joinUses([{ node: GPU, descriptors: [3] }], reason), [
    { node: GPU, descriptors: 1, mappings: reason },
  ]);
});

test("hasInheritedNodes() needs nvidia-uvm open, and seen not to be mapped", () => {
  const uses = (
    descriptors: number,
    mappings: Parameters<typeof hasInheritedNodes>[0][number]["mappings"],
  ) => [
    { node: UVM, descriptors, mappings },
  ];
  const cases = [uses(4, known(0)), uses(4, known(1)), uses(0, known(0)), uses(4, absent("timed-out")), []];
  assert.deepEqual(cases.map(hasInheritedNodes), [true, false, false, false, false]);
});
