import assert from "node:assert/strict";
import { test } from "node:test";
import { allowedDevices, uuidOf } from "../../../lib/analysis/allowed_devices.ts";
import { parseGpuSelectors } from "../../../lib/analysis/select_gpus.ts";
import { gpuUuid } from "../../../lib/core/ids.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import { bytes } from "../../../lib/core/units.ts";
import type { MigInstance } from "../../../lib/model/gpu.ts";
import { idleGpu } from "../../support/driver_reports.ts";

const MIG_A = gpuUuid("MIG-aaaaaaaa-0000-0000-0000-000000000000");
const MIG_B = gpuUuid("MIG-bbbbbbbb-0000-0000-0000-000000000000");

function instance(uuid: MigInstance["uuid"], gpuInstance: number): MigInstance {
  const size = known(bytes(1));
  return {
    uuid,
    gpuInstance: known(gpuInstance),
    computeInstance: known(1),
    profile: known("1g"),
    memoryTotal: size,
    memoryUsed: size,
  };
}

const DIVIDED = idleGpu(0, { migInstances: known([instance(MIG_A, 1), instance(MIG_B, 2)]) });
const WHOLE = idleGpu(1);

function allow(list: string) {
  return allowedDevices([DIVIDED, WHOLE], parseGpuSelectors(list));
}

test("allowedDevices() gives a MIG device alone where it is named, by the beginning of its UUID too", () => {
  const devices = [{ gpu: DIVIDED.uuid, mig: MIG_B }, { gpu: WHOLE.uuid }];
  assert.deepEqual(allow(`${MIG_B},1`), devices);
  assert.deepEqual(allow("mig-BBBB,1"), devices);
});

test("allowedDevices() takes the name that old drivers have for a MIG device", () => {
  assert.deepEqual(allow(`MIG-${DIVIDED.uuid}/2/1,1`), [
    { gpu: DIVIDED.uuid, mig: MIG_B },
    { gpu: WHOLE.uuid },
  ]);
});

test("allowedDevices() gives each MIG device that is named", () => {
  assert.deepEqual(allow(`${MIG_A},${MIG_B}`).slice(0, 2), [
    { gpu: DIVIDED.uuid, mig: MIG_A },
    { gpu: DIVIDED.uuid, mig: MIG_B },
  ]);
});

test("allowedDevices() gives the whole of a divided GPU that is named by its index or its own UUID", () => {
  for (const list of ["0,1", `${DIVIDED.uuid},${WHOLE.uuid}`]) {
    assert.deepEqual(allow(list), [{ gpu: DIVIDED.uuid }, { gpu: WHOLE.uuid }]);
  }
});

test("allowedDevices() gives the whole GPU where its MIG devices are not known", () => {
  const unread = idleGpu(0, { migInstances: absent("no-permission") });
  assert.deepEqual(allowedDevices([unread], parseGpuSelectors("0")), [{ gpu: unread.uuid }]);
});

test("uuidOf() gives what CUDA_VISIBLE_DEVICES takes: the MIG device's UUID, or the GPU's", () => {
  assert.deepEqual(allow(`${MIG_B},1`).map(uuidOf), [MIG_B, WHOLE.uuid]);
});
