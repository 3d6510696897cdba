import { test } from "node:test";
import assert from "node:assert/strict";
import { gpuIndex, gpuUuid } from "../../../lib/core/ids.ts";
import { absent } from "../../../lib/core/reading.ts";
import { parseVisibleDevices } from "../../../lib/analysis/visible_devices.ts";
import { MEASURED } from "./visible_devices_measured.ts";
import { A, B, gpu, machine, MIG_A, MIG_B, migGpu } from "./visible_devices_machine.ts";

test("parseVisibleDevices() agrees with CUDA on every value that was tried on two GPUs", () => {
  for (const [value, expected, end] of MEASURED) {
    const visible = parseVisibleDevices(value, machine());
    const indexes = visible.devices.map((device) => device.gpu === A ? 0 : device.gpu === B ? 1 : NaN);
    assert.deepEqual(
      { value, gpus: visible.isError ? "error" : indexes, end: visible.end, doubts: visible.doubts },
      { value, gpus: expected, end, doubts: [] },
    );
  }
});

test("parseVisibleDevices() says what each entry was read as", () => {
  assert.deepEqual(parseVisibleDevices(" 1x,GPU-7", machine()), {
    devices: [{ gpu: B }],
    isError: false,
    end: "other-form",
    entries: [
      { entry: { kind: "number", text: " 1x", number: 1, ignored: "x" }, device: { gpu: B } },
      { entry: { kind: "bad", text: "GPU-7", why: "other-form" } },
    ],
    doubts: [],
  });
});

test("parseVisibleDevices() counts GPUs by bus order, not by their place in the list", () => {
  const { devices } = parseVisibleDevices("1", machine([gpu(1, B), gpu(0, A)]));
  assert.deepEqual(devices, [{ gpu: B }]);
});

test("parseVisibleDevices() fails as cuInit does when CUDA_DEVICE_ORDER is misspelt", () => {
  for (const deviceOrder of ["", "pci_bus_id", "PCI_BUS_ID ", "PCI", "0"]) {
    assert.deepEqual(parseVisibleDevices("1", machine(undefined, { deviceOrder })), {
      devices: [],
      isError: true,
      end: "bad-device-order",
      entries: [],
      doubts: [],
    });
  }
});

test("parseVisibleDevices() doubts numbers on mixed models unless the order is that of the bus", () => {
  const mixed = [gpu(0, A, "NVIDIA GeForce RTX 3090"), gpu(1, B, "NVIDIA T400")];
  const doubtsFor = (value: string, deviceOrder?: string) =>
    parseVisibleDevices(value, machine(mixed, { deviceOrder })).doubts;

  assert.deepEqual(doubtsFor("1"), ["mixed-models"]);
  assert.deepEqual(doubtsFor("1", "FASTEST_FIRST"), ["mixed-models"]);
  assert.deepEqual(doubtsFor("1", "PCI_BUS_ID"), []);
  assert.deepEqual(doubtsFor(B), []);
  assert.deepEqual(doubtsFor("-1"), []);
});

test("parseVisibleDevices() doubts numbers when a model or a whole GPU could not be read", () => {
  const unnamed = [gpu(0, A), { ...gpu(1, B), name: absent("no-permission") }];
  assert.deepEqual(parseVisibleDevices("1", machine(unnamed)).doubts, ["models-unread"]);

  const lost = machine(undefined, { unreadableGpus: [{ index: gpuIndex(2), reason: absent("lost") }] });
  assert.deepEqual(parseVisibleDevices("1", lost).doubts, ["gpu-unread"]);
  assert.deepEqual(parseVisibleDevices(undefined, lost).doubts, ["gpu-unread"]);
  assert.deepEqual(parseVisibleDevices("GPU-eeee", lost).doubts, ["gpu-unread"]);
  assert.deepEqual(parseVisibleDevices(B, lost).doubts, []);
});

test("parseVisibleDevices() ends the list at the beginning of a UUID that two GPUs share", () => {
  const twins = machine([gpu(0, gpuUuid("GPU-ab10")), gpu(1, gpuUuid("GPU-ab20"))]);
  assert.equal(parseVisibleDevices("GPU-ab", twins).end, "ambiguous-uuid");
  assert.deepEqual(parseVisibleDevices("GPU-ab2", twins).devices, [{ gpu: gpuUuid("GPU-ab20") }]);
});

test("parseVisibleDevices() gives one MIG device to a process", () => {
  const migs = machine([migGpu(0, A, [MIG_A, MIG_B]), gpu(1, B)]);
  const first = { gpu: A, mig: MIG_A };
  const second = { gpu: A, mig: MIG_B };
  const parse = (value: string | undefined) => {
    const { devices, end, doubts } = parseVisibleDevices(value, migs);
    return { devices, end, doubts };
  };

  assert.deepEqual(parse(MIG_B), { devices: [second], end: "complete", doubts: [] });
  assert.deepEqual(parse("MIG-f39a"), { devices: [second], end: "complete", doubts: [] });
  assert.deepEqual(parse(`MIG-${A}/2/0`), { devices: [second], end: "complete", doubts: [] });
  assert.deepEqual(parse(`MIG-${A}/9/0`), { devices: [], end: "unknown-uuid", doubts: [] });
  assert.deepEqual(parse(`${MIG_A},${MIG_B}`), { devices: [first], end: "mig-limit", doubts: [] });
  assert.deepEqual(parse(`${MIG_A},${MIG_A}`), { devices: [], end: "duplicate", doubts: [] });
  assert.deepEqual(parse("0"), { devices: [first], end: "complete", doubts: ["mixed-models", "mig"] });
  assert.deepEqual(parse(undefined), { devices: [first, { gpu: B }], end: "unset", doubts: ["mig"] });
});
