import assert from "node:assert/strict";
import { test } from "node:test";
import { type Candidate, findVisibleDevices } from "../../../../lib/source/sim/visible.ts";
import { MEASURED } from "../../analysis/visible_devices_measured.ts";
import { A, B } from "../../analysis/visible_devices_machine.ts";

const MEASURED_ON: readonly Candidate[] = [A, B].map((uuid, index) => ({ index, uuid, migDevices: [] }));

test("findVisibleDevices() agrees with CUDA on every value that was tried on two GPUs", () => {
  for (const [value, expected] of MEASURED) {
    const indexes = findVisibleDevices(value, MEASURED_ON).map(({ index }) => index);
    assert.deepEqual({ value, indexes }, { value, indexes: expected === "error" ? [] : expected });
  }
});

const FIRST = "GPU-51300000-0000-4000-8000-000000000000";
const SECOND = "GPU-51300001-0000-4000-8000-000000000001";
const TWO: readonly Candidate[] = [
  { index: 0, uuid: FIRST, migDevices: [] },
  { index: 1, uuid: SECOND, migDevices: [] },
];

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
