import { test } from "node:test";
import assert from "node:assert/strict";
import { parseNvidiaVisibleDevices } from "../../../lib/analysis/nvidia_visible_devices.ts";
import { A, B, gpu, machine, MIG_A, MIG_B, migGpu } from "./visible_devices_machine.ts";

test("parseNvidiaVisibleDevices() reads the words that the container toolkit knows", () => {
  assert.deepEqual(parseNvidiaVisibleDevices(undefined, machine()), { kind: "unset" });
  assert.deepEqual(parseNvidiaVisibleDevices("", machine()), { kind: "void" });
  assert.deepEqual(parseNvidiaVisibleDevices("void", machine()), { kind: "void" });
  assert.deepEqual(parseNvidiaVisibleDevices("none", machine()), { kind: "none" });
  assert.deepEqual(parseNvidiaVisibleDevices("all", machine()), {
    kind: "devices",
    devices: [{ gpu: A }, { gpu: B }],
    unknown: [],
  });
});

test("parseNvidiaVisibleDevices() names devices by number, UUID and GPU:MIG, each once", () => {
  const on = machine([migGpu(0, A, [MIG_A, MIG_B]), gpu(1, B)]);
  assert.deepEqual(parseNvidiaVisibleDevices(`1,${B},0:1,${MIG_A}`, on), {
    kind: "devices",
    devices: [{ gpu: B }, { gpu: A, mig: MIG_B }, { gpu: A, mig: MIG_A }],
    unknown: [],
  });
});

test("parseNvidiaVisibleDevices() keeps entries that name nothing apart", () => {
  assert.deepEqual(parseNvidiaVisibleDevices("0,7, 1", machine()), {
    kind: "devices",
    devices: [{ gpu: A }],
    unknown: ["7", " 1"],
  });
});

test("parseNvidiaVisibleDevices() says so when the list stands elsewhere", () => {
  for (const value of ["/var/run/nvidia-container-devices", "nvidia.com/gpu=0"]) {
    assert.deepEqual(parseNvidiaVisibleDevices(value, machine()), { kind: "elsewhere", value });
  }
});
