import assert from "node:assert/strict";
import { test } from "node:test";
import { type Candidate, findVisibleDevices } from "../../../../lib/source/sim/visible.ts";

const FIRST = "GPU-51300000-0000-4000-8000-000000000000";
const SECOND = "GPU-51300001-0000-4000-8000-000000000001";
const TWO: readonly Candidate[] = [
  { index: 0, uuid: FIRST, migDevices: [] },
  { index: 1, uuid: SECOND, migDevices: [] },
];

test("findVisibleDevices() finds what CUDA found of two GPUs", () => {
  const measured: readonly (readonly [string | undefined, readonly number[]])[] = [
    [undefined, [0, 1]],
    ["1", [1]],
    [" 1", [1]],
    ["01", [1]],
    ["1x", [1]],
    ["1,0", [1, 0]],
    ["0 1", [0]],
    [SECOND, [1]],
    ["GPU-51300001", [1]],
    [`${FIRST},1`, [0]],
    ["0,7,1", [0]],
    ["0,-1,1", [0]],
    ["7,0", []],
    ["-1", []],
    ["", []],
    ["NoDevFiles", []],
    ["1,1", []],
    [" GPU-51300001", []],
    ["GPU-51300001-", [1]],
    ["gpu-51300001", []],
    ["-0", [0]],
  ];
  for (const [value, indexes] of measured) {
    assert.deepEqual(findVisibleDevices(value, TWO).map(({ index }) => index), indexes, String(value));
  }
});

test("findVisibleDevices() ends a list at a beginning of UUIDs that fits two, or none", () => {
  assert.deepEqual(findVisibleDevices("GPU-5130", TWO), []);
  assert.deepEqual(findVisibleDevices(`${SECOND},GPU-9`, TWO), [{ index: 1 }]);
  assert.deepEqual(findVisibleDevices(`${FIRST},`, TWO.slice(0, 1)), [{ index: 0 }]);
});

test("findVisibleDevices() counts GPUs in the order in which it is given them", () => {
  assert.deepEqual(findVisibleDevices("0", TWO.toReversed()), [{ index: 1 }]);
});

test("findVisibleDevices() gives one MIG device at most", () => {
  const place = (gpuInstance: number) => ({ gpuInstance, computeInstance: 0 });
  const divided: readonly Candidate[] = [{
    index: 0,
    uuid: FIRST,
    migDevices: [{ ...place(1), uuid: "MIG-51300000-a" }, { ...place(2), uuid: "MIG-51300000-b" }],
  }];
  assert.deepEqual(findVisibleDevices(undefined, divided), [{ index: 0, mig: place(1) }]);
  assert.deepEqual(findVisibleDevices("MIG-51300000-b,MIG-51300000-a", divided), [{
    index: 0,
    mig: place(2),
  }]);
});
