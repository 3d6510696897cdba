import assert from "node:assert/strict";
import { test } from "node:test";
import { pid } from "../../../../lib/core/ids.ts";
import { known } from "../../../../lib/core/reading.ts";
import { bytes } from "../../../../lib/core/units.ts";
import type { Gpu } from "../../../../lib/model/gpu.ts";
import type { AllocationName } from "../../../../lib/source/sim/allocation.ts";
import { parseFaults } from "../../../../lib/source/sim/faults.ts";
import { type ChargedMemory, describeServer } from "../../../../lib/source/sim/report.ts";
import { buildServer, fakeUuid } from "../../../../lib/source/sim/server.ts";
import { SOUND_HEALTH } from "../../../support/driver_reports.ts";

const GIB = 1024 ** 3;
const ROW = { kind: "compute" } as const;

function server(faults = "") {
  return buildServer("/sim", {
    schema: "gpuctl.sim/1",
    driver: { version: "580.159.04", libraryVersion: "580.159.04", cudaVersion: "13.0" },
    gpus: [0, 1].map((index) => ({
      index,
      uuid: `GPU-${fakeUuid(index, 0)}`,
      name: "NVIDIA H200",
      busId: `00000000:0${index + 1}:00.0`,
      minor: index,
      memoryTotalBytes: 80 * GIB,
      memoryReservedBytes: GIB,
    })),
    faults: parseFaults(faults),
  });
}

let inode = 0n;

/** Memory of so many GiB that a pid has allocated on GPU 0. */
function memory(
  owner: number | undefined,
  gib: number,
  extra: Partial<AllocationName> & { inode?: bigint } = {},
): ChargedMemory {
  const { inode: same, ...name } = extra;
  return {
    gpu: 0,
    size: bytes(gib * GIB),
    inode: same ?? ++inode,
    owner: owner === undefined ? undefined : pid(owner),
    name: { pid: owner ?? 1, pidNamespace: 1, serial: 0, kind: "alloc", ...name },
  };
}

function describe(held: readonly ChargedMemory[], faults = "", withUtilization = false): Gpu {
  const [gpu] = describeServer(server(faults), held, { withUtilization }).gpus;
  if (gpu === undefined) throw new Error("there is no GPU");
  return gpu;
}

function usedOf(gpu: Gpu): number {
  return gpu.memoryUsed.ok ? gpu.memoryUsed.value / GIB : NaN;
}

/** `pid: GiB` of each row. */
function rowsOf(gpu: Gpu): string[] {
  return gpu.processList.state === "unknown"
    ? []
    : gpu.processList.contexts.map(({ pid, used }) => `${pid}: ${used.ok ? used.value / GIB : "?"}`);
}

test("describeServer() describes an idle GPU as an H200's driver does", () => {
  assert.deepEqual(describe([]), {
    index: 0,
    uuid: "GPU-51300000-0000-4000-8000-000000000000",
    name: { ok: true, value: "NVIDIA H200" },
    busId: { ok: true, value: "00000000:01:00.0" },
    minor: { ok: true, value: 0 },
    memoryTotal: { ok: true, value: 80 * GIB },
    memoryUsed: { ok: true, value: 0 },
    memoryReserved: { ok: true, value: GIB },
    memoryFree: { ok: true, value: 79 * GIB },
    usedIncludesReserve: { ok: true, value: false },
    utilization: { ok: false, why: "not-asked" },
    persistenceMode: { ok: true, value: true },
    computeMode: { ok: true, value: "default" },
    displayActive: { ok: true, value: false },
    migMode: { ok: true, value: { current: false, pending: false } },
    migInstances: { ok: true, value: [] },
    recoveryAction: { ok: true, value: "none" },
    processList: { state: "known", contexts: [] },
  });
});

test("describeServer() tells the health of each GPU when asked", () => {
  const faults = `[gpu.0]
ecc-pending = true
uncorrected-errors = 2
remap-pending = true
retirement-pending = true
nvlink-peers = [1]
nvswitch = true
virtualization = "passthrough"
fabric = "in-progress"
fabric-status = 23
sm-clock = 1980
architecture = "Ampere"
[gpu.1]
remap-failed = true
`;
  const { gpus } = describeServer(server(faults), [], { withUtilization: false, withHealth: true });
  assert.deepEqual(gpus.map(({ health }) => health), [
    {
      ecc: known({ current: true, pending: false }),
      uncorrectedErrors: known(2),
      remappedRows: known({ correctable: 0, uncorrectable: 1, isPending: true, hasFailed: false }),
      hasRetirementPending: known(true),
      nvlinkPeers: known(["00000000:02:00.0"]),
      hasNvSwitch: known(true),
      virtualization: known("passthrough"),
      fabric: known({ state: "in-progress", status: 23 }),
      smClockMegahertz: known(1980),
      architecture: known("Ampere"),
    },
    {
      ...SOUND_HEALTH,
      remappedRows: known({ correctable: 0, uncorrectable: 1, isPending: false, hasFailed: true }),
    },
  ]);
});

test("describeServer() shows persistence mode and displays as the file says", () => {
  const { persistenceMode, displayActive } = describe([], "[gpu.0]\npersistence = false\ndisplay = true");
  assert.deepEqual([persistenceMode, displayActive], [known(false), known(true)]);
});

test("describeServer() sums a process's memory up in one row under its creator's pid", () => {
  const gpu = describe([memory(812, 2), memory(700, 1), memory(812, 3, { serial: 1 })]);
  assert.deepEqual([usedOf(gpu), gpu.processList], [6, {
    state: "known",
    contexts: [
      { pid: 700, ...ROW, used: { ok: true, value: GIB } },
      { pid: 812, ...ROW, used: { ok: true, value: 5 * GIB } },
    ],
  }]);
});

test("describeServer() charges shared memory once: to its creator, and to the first importer after that one's end", () => {
  const imports = [
    memory(900, 3, { kind: "import", inode: 77n }),
    memory(800, 3, { kind: "import", inode: 77n }),
  ];
  const alive = describe([...imports, memory(812, 3, { inode: 77n })]);
  assert.deepEqual([usedOf(alive), rowsOf(alive)], [3, ["812: 3"]]);
  const orphaned = describe(imports);
  assert.deepEqual([usedOf(orphaned), rowsOf(orphaned)], [3, ["800: 3"]]);
});

test("describeServer() counts memory without a row: the cost of visibility, and processes that are not visible from here", () => {
  const gpu = describe([memory(812, 1, { kind: "visible" }), memory(undefined, 4)]);
  assert.deepEqual([usedOf(gpu), gpu.processList], [5, { state: "known", contexts: [] }]);
});

test("describeServer() counts unattributed memory as used and gives it no row", () => {
  const gpu = describe([memory(812, 1)], '[gpu.0]\nunattributed = "3GiB"');
  assert.deepEqual([usedOf(gpu), rowsOf(gpu), gpu.memoryFree], [4, ["812: 1"], {
    ok: true,
    value: 75 * GIB,
  }]);
});

test("describeServer() counts the reserve as used when the memory API is v1", () => {
  const { memoryUsed, memoryReserved, usedIncludesReserve } = describe([memory(812, 1)], 'memory-api = "v1"');
  assert.deepEqual([memoryUsed, memoryReserved, usedIncludesReserve], [
    { ok: true, value: 2 * GIB },
    { ok: false, why: "not-supported" },
    { ok: true, value: true },
  ]);
});

test("describeServer() says what a process list lacks when it is denied or truncated", () => {
  const held = [memory(1, 1), memory(2, 1), memory(3, 1)];
  const denied = describe(held, '[gpu.0]\nprocess-list = "denied"');
  assert.deepEqual([usedOf(denied), denied.processList], [3, {
    state: "unknown",
    reason: { ok: false, why: "no-permission" },
  }]);
  const truncated = describe(held, '[gpu.0]\nprocess-list = "truncated"');
  assert.deepEqual([usedOf(truncated), rowsOf(truncated), truncated.processList.state], [
    3,
    ["1: 1", "2: 1"],
    "incomplete",
  ]);
});

test("describeServer() counts a lost GPU and describes it no further", () => {
  const report = describeServer(server("[gpu.0]\nlost = true"), [], { withUtilization: true });
  assert.deepEqual([report.gpus.map(({ index }) => index), report.unreadableGpus], [[1], [{
    index: 0,
    reason: { ok: false, why: "lost", detail: "GPU is lost" },
  }]]);
});

test("describeServer() shows the faults of a GPU that change one value each", () => {
  const gpu = describe(
    [memory(812, 1)],
    '[gpu.0]\nrecovery-action = "reset"\nutilization-latch = true\nmps = true\nname = "NVIDIA L4"\nmemory = "24GiB"',
    true,
  );
  assert.deepEqual([gpu.recoveryAction, gpu.utilization, gpu.name, gpu.memoryTotal, gpu.memoryReserved], [
    { ok: true, value: "reset" },
    { ok: true, value: 100 },
    { ok: true, value: "NVIDIA L4" },
    { ok: true, value: 24 * GIB },
    { ok: true, value: 192 * 1024 ** 2 },
  ]);
  assert.deepEqual(gpu.processList, {
    state: "known",
    contexts: [{ pid: 812, kind: "mps-client", used: { ok: true, value: GIB } }],
  });
  assert.deepEqual(describe([], "", true).utilization, { ok: true, value: 0 });
});

test("describeServer() gives each MIG device its own memory and each row its place", () => {
  const faults = [1, 2].map((instance) =>
    `[[gpu.0.mig]]\ngpu-instance = ${instance}\nprofile = "1g.18gb"\nmemory = "16GiB"`
  ).join("\n");
  const mig = { gpuInstance: 2, computeInstance: 0 };
  const gpu = describe([memory(812, 3, { mig })], faults, true);
  const instance = (gpuInstance: number, used: number) => ({
    uuid: `MIG-51300000-0000-4000-8000-000${gpuInstance}00000000`,
    gpuInstance: { ok: true, value: gpuInstance },
    computeInstance: { ok: true, value: 0 },
    profile: { ok: true, value: "1g.18gb" },
    memoryTotal: { ok: true, value: 16 * GIB },
    memoryUsed: { ok: true, value: used * GIB },
  });
  assert.deepEqual([gpu.migMode, gpu.migInstances, gpu.utilization, gpu.processList], [
    { ok: true, value: { current: true, pending: true } },
    { ok: true, value: [instance(1, 0), instance(2, 3)] },
    { ok: false, why: "not-supported" },
    { state: "known", contexts: [{ pid: 812, ...ROW, used: { ok: true, value: 3 * GIB }, ...mig }] },
  ]);
});
