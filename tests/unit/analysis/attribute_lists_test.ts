import assert from "node:assert/strict";
import { test } from "node:test";
import { attributeLists, type ListedLook } from "../../../lib/analysis/attribute_lists.ts";
import { deviceMinor, gpuUuid, pid } from "../../../lib/core/ids.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import { bytes } from "../../../lib/core/units.ts";
import type { ListedHolder, ListedUse } from "../../../lib/model/listed_holder.ts";
import { context, idleGpu, reportOf } from "../../support/driver_reports.ts";

const WHY = absent("not-reported", "a saved text does not say");
const NO_DRIVER = absent("not-reported", "fuser lists who has the device open");

function use(minor: number, how: Partial<ListedUse> = {}): ListedUse {
  const node = { kind: "gpu", minor: deviceMinor(minor) } as const;
  return { path: `/dev/nvidia${minor}`, node, isOpen: true, isMapped: false, ...how };
}

const CONTROL: ListedUse = {
  path: "/dev/nvidiactl",
  node: { kind: "control" },
  isOpen: true,
  isMapped: true,
};

function look(listed: readonly ListedHolder[] | undefined, more: Partial<ListedLook> = {}) {
  return attributeLists({
    takenAt: WHY,
    host: { name: WHY, bootId: WHY, kernel: WHY },
    report: NO_DRIVER,
    listed,
    why: WHY,
    problems: [],
    ...more,
  });
}

test("attributeLists() makes a holder of each process that fuser saw, with what it had of each GPU", () => {
  const { gpus, holders, driver, problems } = look([
    { pid: pid(812), user: "ada", command: "python", uses: [use(3, { isMapped: true }), use(0), CONTROL] },
  ]);
  assert.deepEqual(holders, [{
    pid: 812,
    startTicks: WHY,
    uid: WHY,
    user: known("ada"),
    argv: WHY,
    name: "python",
    state: WHY,
    threads: WHY,
    parentPid: WHY,
    owner: WHY,
    class: "unknown",
    evidence: [
      "a list of open files shows it with /dev/nvidia3 (open, mapped), /dev/nvidia0 (open), /dev/nvidiactl (open, mapped)",
    ],
    advice: "Look on the machine itself: gpuctl snapshot",
    devices: [
      { gpu: "minor:0", contextBytes: NO_DRIVER, isOpen: known(true), isMapped: known(false) },
      { gpu: "minor:3", contextBytes: NO_DRIVER, isOpen: known(true), isMapped: known(true) },
    ],
  }]);
  assert.deepEqual(
    gpus.map(({ gpu, unattributed }) => [gpu.index, gpu.uuid, gpu.minor, gpu.memoryUsed, unattributed]),
    [[0, "minor:0", known(0), NO_DRIVER, NO_DRIVER], [3, "minor:3", known(3), NO_DRIVER, NO_DRIVER]],
  );
  assert.deepEqual(driver, NO_DRIVER);
  assert.deepEqual(problems, [{
    subject: "GPU index",
    reason: absent("not-reported"),
    message: "The text gives no index for 2 GPUs: numbered here as their device nodes are",
  }]);
});

test("attributeLists() puts a device node to the GPU whose minor number the text gives, whatever its index", () => {
  const gpus = [
    idleGpu(0, { minor: known(deviceMinor(1)) }),
    idleGpu(1, {
      minor: known(deviceMinor(0)),
      processList: { state: "known", contexts: [context(7, 4096, { name: "train" })] },
    }),
  ];
  const { holders, problems } = look([
    { pid: pid(7), command: "python", uses: [use(0, { isMapped: true })] },
    { pid: pid(9), uses: [use(1)] },
  ], { report: reportOf(...gpus) });
  assert.deepEqual(holders.map(({ pid, name, evidence, devices }) => ({ pid, name, evidence, devices })), [
    {
      pid: 7,
      name: "train",
      evidence: [
        "a list of contexts says nothing about the process itself",
        "a list of open files shows it with /dev/nvidia0 (open, mapped)",
      ],
      devices: [{
        gpu: gpus[1]?.uuid,
        contextBytes: known(bytes(4096)),
        isOpen: known(true),
        isMapped: known(true),
      }],
    },
    {
      pid: 9,
      name: "",
      evidence: ["a list of open files shows it with /dev/nvidia1 (open)"],
      devices: [{
        gpu: gpus[0]?.uuid,
        contextBytes: known(bytes(0)),
        isOpen: known(true),
        isMapped: known(false),
      }],
    },
  ]);
  assert.deepEqual(problems, []);
});

test("attributeLists() does not guess which GPU a device node is where the text gives no minor numbers", () => {
  const gpu = idleGpu(0, { minor: absent("not-reported"), memoryUsed: known(bytes(1 << 20)) });
  const { gpus, holders, problems } = look([{ pid: pid(9), uses: [use(0)] }], { report: reportOf(gpu) });
  assert.deepEqual(gpus.map(({ gpu }) => gpu.uuid), [gpu.uuid]);
  assert.deepEqual(holders.flatMap(({ devices }) => devices), [{
    gpu: gpuUuid("minor:0"),
    contextBytes: absent("not-reported", "nothing says which GPU this device node is"),
    isOpen: known(true),
    isMapped: known(false),
  }]);
  assert.deepEqual(problems.map(({ subject, message }) => [subject, message]), [[
    "device nodes",
    "The text does not say which GPU /dev/nvidia0 is, and it need not be the one of that index: nvidia-smi -q gives each GPU's minor number",
  ]]);
});

test("attributeLists() says nothing of what a process has open that only the driver lists", () => {
  const gpu = idleGpu(0, { processList: { state: "known", contexts: [context(7, 4096)] } });
  const { holders } = look([{ pid: pid(9), uses: [use(0)] }], { report: reportOf(gpu) });
  assert.deepEqual(holders[0]?.devices, [{
    gpu: gpu.uuid,
    contextBytes: known(bytes(4096)),
    isOpen: WHY,
    isMapped: WHY,
  }]);
});

test("attributeLists() joins what two lists say of one process, and drops nobody without a GPU's node", () => {
  const { holders, gpus, problems } = look([
    { pid: pid(9), user: "u", command: "python", uses: [use(0)] },
    { pid: pid(9), user: "u", command: "python", uses: [use(0, { isOpen: false, isMapped: true })] },
    { pid: pid(10), uses: [CONTROL] },
  ]);
  assert.deepEqual(
    holders.map(({ pid, devices }) => [pid, devices.map(({ isOpen, isMapped }) => [isOpen, isMapped])]),
    [[9, [[known(true), known(true)]]], [10, []]],
  );
  assert.deepEqual([gpus.length, problems.length], [1, 1]);
});

test("attributeLists() takes a number for a uid, and a user that the list cut for none", () => {
  const { holders } = look([
    { pid: pid(1), user: "1000", uses: [CONTROL] },
    { pid: pid(2), user: "nvidia-+", uses: [CONTROL] },
    { pid: pid(3), user: "99999999999", uses: [CONTROL] },
  ]);
  assert.deepEqual(holders.map(({ uid, user }) => [uid, user]), [
    [known(1000), WHY],
    [WHY, absent("not-reported", "the list cuts it to nvidia-+")],
    [WHY, known("99999999999")],
  ]);
});

test("attributeLists() keeps the driver's refusal beside the processes", () => {
  const refusal = absent("failed", "Failed to initialize NVML: Driver/library version mismatch");
  const { driver, holders, problems } = look([{ pid: pid(9), uses: [use(0)] }], { report: refusal });
  assert.deepEqual([driver, holders.map(({ pid }) => pid)], [refusal, [9]]);
  assert.deepEqual(problems.map(({ subject }) => subject), ["driver", "GPU index"]);
});
