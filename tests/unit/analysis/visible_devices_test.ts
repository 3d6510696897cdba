import { test } from "node:test";
import assert from "node:assert/strict";
import { gpuIndex, gpuUuid } from "../../../lib/core/ids.ts";
import { absent } from "../../../lib/core/reading.ts";
import { type ListEnd, parseVisibleDevices } from "../../../lib/analysis/visible_devices.ts";
import { A, B, gpu, machine, MIG_A, MIG_B, migGpu } from "./visible_devices_machine.ts";

const NODASH = B.replaceAll("-", "").slice(3);
const X200 = "x".repeat(200);

/** Value, then the GPUs that CUDA gave on two H200 with driver 580.159.04, and why it read no further. */
const MEASURED: readonly (readonly [string | undefined, readonly number[] | "error", ListEnd])[] = [
  [undefined, [0, 1], "unset"],
  ["", [], "no-value"],
  ["0", [0], "complete"],
  ["1", [1], "complete"],
  ["1,0", [1, 0], "complete"],
  // What strtoul(3) takes in front of a number, and what is left alone behind it.
  [" 1", [1], "complete"],
  ["\t1", [1], "complete"],
  ["\n1", [1], "complete"],
  ["\v1", [1], "complete"],
  ["\f1", [1], "complete"],
  ["\r1", [1], "complete"],
  ["+1", [1], "complete"],
  ["-0", [0], "complete"],
  ["01", [1], "complete"],
  ["00000000001", [1], "complete"],
  ["1x", [1], "complete"],
  ["0x1", [0], "complete"],
  ["0b1", [0], "complete"],
  ["01_0", [1], "complete"],
  ["1.0", [1], "complete"],
  ["1e0", [1], "complete"],
  ["1\x01", [1], "complete"],
  ["1\u00a0", [1], "complete"],
  ["1GPU-", [1], "complete"],
  ["0-1", [0], "complete"],
  ["0:1", [0], "complete"],
  ["0;1", [0], "complete"],
  ["0 1", [0], "complete"],
  ["0\n1", [0], "complete"],
  ["1 ,0", [1, 0], "complete"],
  ["1, 0", [1, 0], "complete"],
  ["1,\n0", [1, 0], "complete"],
  ["0 x,1", [0, 1], "complete"],
  ["0 1,1", [0, 1], "complete"],
  ["0x,1x", [0, 1], "complete"],
  ["1abc,0", [1, 0], "complete"],
  [`1${X200},0`, [1, 0], "complete"],
  // Numbers wrap as they do in an unsigned long that becomes an int.
  ["4294967296", [0], "complete"],
  ["4294967297", [1], "complete"],
  ["8589934593", [1], "complete"],
  ["-4294967295", [1], "complete"],
  ["-4294967296", [0], "complete"],
  ["9223372036854775808", [0], "complete"],
  ["9223372036854775809", [1], "complete"],
  ["-9223372036854775807", [1], "complete"],
  ["-9223372036854775808", [0], "complete"],
  ["-18446744073709551615", [1], "complete"],
  ["-18446744073709551614", [], "out-of-range"],
  ["4294967295", [], "negative"],
  ["2147483648", [], "negative"],
  ["2147483649", [], "negative"],
  ["9223372036854775807", [], "negative"],
  ["-9223372036854775809", [], "negative"],
  ["18446744073709551615", [], "negative"],
  ["18446744073709551616", [], "negative"],
  ["18446744073709551617", [], "negative"],
  ["99999999999999999999", [], "negative"],
  // Where the list ends.
  ["-1", [], "negative"],
  ["-2", [], "negative"],
  ["0,-1,1", [0], "negative"],
  ["NoDevFiles", [], "no-dev-files"],
  ["NoDevFiles,0", [], "no-dev-files"],
  ["0,NoDevFiles", [0], "no-dev-files"],
  ["NoDevFilesX", [], "not-a-device"],
  ["2", [], "out-of-range"],
  ["7,0", [], "out-of-range"],
  ["0,7,1", [0], "out-of-range"],
  ["0,1,7", [0, 1], "out-of-range"],
  ["0,", [0], "empty"],
  ["0,,1", [0], "empty"],
  [",0", [], "empty"],
  [" ", [], "not-a-device"],
  [" ,1", [], "not-a-device"],
  ["x1", [], "not-a-device"],
  ["all", [], "not-a-device"],
  ['"0"', [], "not-a-device"],
  ["'0'", [], "not-a-device"],
  ["--1", [], "not-a-device"],
  ["- 1", [], "not-a-device"],
  ["+ 1", [], "not-a-device"],
  ["\u00a01", [], "not-a-device"],
  ["\u0660", [], "not-a-device"],
  ["\uff10", [], "not-a-device"],
  ["0,x,0", [0], "not-a-device"],
  // The same GPU twice among the entries that were read.
  ["1,1", "error", "duplicate"],
  ["1,01", "error", "duplicate"],
  ["0,-0", "error", "duplicate"],
  ["0,4294967296", "error", "duplicate"],
  ["0,1,0", "error", "duplicate"],
  ["0,0,7", "error", "duplicate"],
  ["0x,0", "error", "duplicate"],
  ["0,7,0", [0], "out-of-range"],
  ["7,0,0", [], "out-of-range"],
  ["0,-1,0", [0], "negative"],
  // UUIDs.
  [A, [0], "complete"],
  [`${B},${A}`, [1, 0], "complete"],
  [B.slice(0, 8), [1], "complete"],
  [B.slice(0, 12), [1], "complete"],
  [B.slice(0, 5), [1], "complete"],
  [B.slice(0, 13), [1], "complete"],
  [`GPU-${B.slice(4).toUpperCase()}`, [1], "complete"],
  [`GPU-${NODASH}`, [1], "complete"],
  [`GPU-${NODASH.slice(0, 6)}-${NODASH.slice(6)}`, [1], "complete"],
  [`GPU--${B.slice(4)}`, [1], "complete"],
  [`GPU-${NODASH.slice(0, 31)}x`, [], "not-a-uuid"],
  [`${B}x`, [1], "complete"],
  [`${B} `, [1], "complete"],
  [`${B} ${A}`, [1], "complete"],
  [`${B}\n,${A}`, [1, 0], "complete"],
  [`MIG-${B.slice(4)}`, [1], "complete"],
  [`MIG-${B.slice(4, 8)},${A}`, [1, 0], "complete"],
  [`${B},`, [1], "empty"],
  [`${B},,${A}`, [1], "empty"],
  [`${B},-1,${A}`, [1], "negative"],
  [`${B},NoDevFiles,${A}`, [1], "no-dev-files"],
  [`${B},GPU-ffffffff,${A}`, [1], "unknown-uuid"],
  [`${B},GPU-zzzz,${A}`, [1], "not-a-uuid"],
  ["GPU-", [], "not-a-uuid"],
  ["GPU----", [], "not-a-uuid"],
  ["MIG-", [], "not-a-uuid"],
  ["GPU", [], "not-a-device"],
  ["GPU-1", [], "unknown-uuid"],
  [`GPU-${B}`, [], "not-a-uuid"],
  [`MIG-${B}`, [], "not-a-uuid"],
  [`MIG-${B}/1/0`, [], "unknown-uuid"],
  [`${B.slice(0, 8)}x`, [], "not-a-uuid"],
  [`${B.slice(0, 8)} ,${A}`, [], "not-a-uuid"],
  [`${B.slice(0, 8)}\n`, [], "not-a-uuid"],
  [B.toLowerCase(), [], "not-a-device"],
  [` ${B}`, [], "not-a-device"],
  [B.slice(4), [], "out-of-range"],
  [`${B}, ${A}`, [1], "not-a-device"],
  [`${A},${A}`, "error", "duplicate"],
  [`${B.slice(0, 12)},${B}`, "error", "duplicate"],
  [`MIG-${B.slice(4, 8)},${B}`, "error", "duplicate"],
  [`${A},7,${A}`, [0], "other-form"],
  // Numbers and UUIDs do not mix.
  [`${A},1`, [0], "other-form"],
  [`0,${B}`, [0], "other-form"],
  [`1,${B.slice(0, 8)}`, [1], "other-form"],
  // The longest value that is read, and the shortest that is not.
  [`1${"x".repeat(2623)}`, [1], "complete"],
  [`1${"x".repeat(2624)}`, [0, 1], "too-long"],
  [`1${"\u00e9".repeat(1311)}`, [1], "complete"],
  [`1${"\u00e9".repeat(1312)}`, [0, 1], "too-long"],
  [`${"0".repeat(100_000)}1`, [0, 1], "too-long"],
];

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
