/** What each kind of platform leaves out or adds, through nvidia-smi's text and through the stand-in for the library. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { attribute } from "../../lib/analysis/attribute.ts";
import { absent, known, mapReading } from "../../lib/core/reading.ts";
import { bytes } from "../../lib/core/units.ts";
import type { DriverReport, Gpu } from "../../lib/model/gpu.ts";
import { renderSnapshotTable } from "../../lib/render/snapshot_table.ts";
import { parseSmiText } from "../../lib/source/smi/parse.ts";
import { snapshotOfText } from "../../lib/world/saved_look.ts";
import { context, idleGpu, readReport, reportOf } from "../support/driver_reports.ts";
import { observe } from "../support/machine.ts";
import { buildStub, type ScenarioGpu, type Stub } from "../support/nvml_stub.ts";
import { type SameMachine, toScenario, toSmiAnswers } from "../support/same_machine.ts";
import { readSmiFixture } from "../support/smi_fixtures.ts";

const MIB = 1024 ** 2;

let stub: Stub;
before(() => stub = buildStub());
after(() => stub[Symbol.dispose]());

/** The table of one GPU of a driver since 530, with the three rows that are given, and its process rows. */
function tableOf(gpu: readonly [string, string, string], processes: readonly string[]): string {
  return [
    "| NVIDIA-SMI 580.95.05              Driver Version: 580.95.05      CUDA Version: 13.0     |",
    "+-----------------------------------------+------------------------+----------------------+",
    ...gpu,
    "+-----------------------------------------+------------------------+----------------------+",
    "",
    "+-----------------------------------------------------------------------------------------+",
    "| Processes:                                                                              |",
    "|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |",
    "|        ID   ID                                                               Usage      |",
    "|=========================================================================================|",
    ...processes,
    "+-----------------------------------------------------------------------------------------+",
    "",
  ].join("\n");
}

const NO_MODE = "|                                         |                        |                  N/A |";
const NO_PROCESS =
  "|  No running processes found                                                             |";

/** Index, name, address, memory and contexts of the only GPU that a text shows. */
function onlyGpu(text: string): Gpu {
  const { report } = parseSmiText(text);
  const gpus = report.ok ? report.value.gpus : [];
  const [gpu] = gpus;
  if (gpu === undefined || gpus.length > 1) {
    throw new Error(`Cannot look at one GPU: there are ${gpus.length}`);
  }
  return gpu;
}

test("GB10: the driver gives no memory of the GPU and lists what each process has of the machine's", async () => {
  const unsupported = absent("not-supported", "Not Supported");
  const gpu = onlyGpu(tableOf([
    "|   0  NVIDIA GB10                    On  |   0000000F:01:00.0 Off |                  N/A |",
    "| N/A   45C    P8              4W /  N/A  | Not Supported          |      0%      Default |",
    NO_MODE,
  ], ["|    0   N/A  N/A           81220      C   python3                               70412MiB |"]));
  assert.deepEqual([gpu.memoryUsed, gpu.memoryTotal], [unsupported, unsupported]);
  const contexts = [context(81220, 70_412 * MIB, { name: "python3" })];
  assert.deepEqual(gpu.processList, {
    state: "incomplete",
    contexts,
    reason: absent("hidden", "nvidia-smi leaves out processes that it cannot name"),
  });
  const scenario: ScenarioGpu = {
    fail: { nvmlDeviceGetMemoryInfo_v2: 3 },
    processes: [{ pid: 8122, usedBytes: 70_412 * MIB }],
  };
  const report = await readReport(stub, { gpus: [scenario] });
  const [account] = report.ok ? attribute({ ...observe({ processes: [] }), report }).gpus : [];
  assert.deepEqual(account?.gpu.processList, { state: "known", contexts: [context(8122, 70_412 * MIB)] });
  assert.deepEqual(
    account?.unattributed,
    absent("not-supported", "nvmlDeviceGetMemoryInfo_v2: Not Supported (NVML_ERROR_NOT_SUPPORTED)"),
  );
});

test("Tegra: a GPU without an address is one, and `No running processes found` proves nothing there", () => {
  const gpu = onlyGpu(tableOf([
    "|   0  Orin (nvgpu)                  N/A  | N/A                N/A |                  N/A |",
    "| N/A   N/A  N/A               N/A /  N/A | Not Supported          |     N/A          N/A |",
    NO_MODE,
  ], [NO_PROCESS]));
  const { index, uuid, name, busId, memoryUsed, processList } = gpu;
  assert.deepEqual({ index, uuid, name, busId, memoryUsed, processList }, {
    index: 0,
    uuid: "index:0",
    name: known("Orin (nvgpu)"),
    busId: absent("not-supported", "N/A"),
    memoryUsed: absent("not-supported", "Not Supported"),
    processList: {
      state: "incomplete",
      contexts: [],
      reason: absent("hidden", "nvidia-smi leaves out processes that it cannot name"),
    },
  });
});

test("WSL: processes have no size, so nothing is said to be unattributed", async () => {
  const rows = [
    "|   0  NVIDIA GeForce RTX 4090        On  |   00000000:01:00.0  On |                  Off |",
    "|  0%   45C    P8              4W /  450W |    3000MiB /  24564MiB |      0%      Default |",
    NO_MODE,
  ] as const;
  const { processList } = onlyGpu(
    tableOf(rows, [
      "|    0   N/A  N/A              33      G   /Xwayland                                 N/A      |",
    ]),
  );
  assert.deepEqual(processList, {
    state: "incomplete",
    contexts: [{
      pid: 33,
      kind: "graphics",
      used: absent("not-supported", "N/A"),
      name: "/Xwayland",
    }],
    reason: absent("hidden", "nvidia-smi leaves out processes that it cannot name"),
  });
  const none = onlyGpu(tableOf(rows, [NO_PROCESS])).processList;
  assert.deepEqual([none.state, none.state === "unknown" ? none : none.contexts], ["incomplete", []]);

  const unsized = { processes: [{ pid: 33, usedBytes: 2n ** 64n - 1n }], usedBytes: 3000 * MIB };
  const report = await readReport(stub, { gpus: [unsized] });
  const [account] = report.ok ? attribute({ ...observe({ processes: [] }), report }).gpus : [];
  assert.deepEqual(
    account?.unattributed,
    absent("not-reported", "the driver gives no size for this process"),
  );
});

test("vGPU host: rows without a pid leave the list of each GPU incomplete, and none is called free", () => {
  const { report } = parseSmiText(readSmiFixture("apps_vgpu_no_pid.csv"));
  const lists = report.ok ? report.value.gpus.map(({ processList }) => processList) : [];
  assert.deepEqual(
    lists,
    [1, 2].map((count) => ({
      state: "incomplete",
      contexts: [],
      reason: absent("hidden", `${count} ${count === 1 ? "process" : "processes"} without a pid or a GPU`),
    })),
  );
});

test("a GPU that cannot be divided has no MIG devices, by the library and by text", async () => {
  const mode = absent("not-supported", "nvmlDeviceGetMigMode: Not Supported (NVML_ERROR_NOT_SUPPORTED)");
  assert.deepEqual(
    await readReport(stub, { gpus: [{ fail: { nvmlDeviceGetMigMode: 3 } }] }),
    reportOf(idleGpu(0, { migMode: mode, migInstances: known([]) })),
  );
  const { migMode, migInstances } = onlyGpu(readSmiFixture("xml_590_v13.xml"));
  assert.deepEqual([migMode, migInstances], [absent("not-supported", "N/A"), known([])]);
});

/** Two compute instances in one GPU instance, which both show all its memory. */
const SHARED: SameMachine = [{
  mig: [
    { gpuInstance: 2, computeInstance: 0, profile: "1c.3g.71gb", mib: 71_424 },
    { gpuInstance: 2, computeInstance: 1, profile: "1c.3g.71gb", mib: 71_424 },
  ],
  processes: [
    { pid: 300, mib: 8000, gpuInstance: 2, computeInstance: 0 },
    { pid: 301, mib: 500, gpuInstance: 2, computeInstance: 1 },
  ],
  unattributedMib: 40,
}];

test("MIG: the memory of one GPU instance is counted once, however many compute instances show it", async () => {
  const byLibrary = await readReport(stub, toScenario(SHARED));
  const bySmi = parseSmiText(toSmiAnswers(SHARED)["-q -x"]?.out ?? "").report;
  for (const report of [byLibrary, bySmi]) {
    const { gpus } = attribute({ ...observe({ processes: [] }), report });
    assert.deepEqual(
      gpus.map(({ gpu, unattributed }) => [
        gpu.memoryUsed,
        mapReading(gpu.migInstances, (devices) => devices.map(({ memoryUsed }) => memoryUsed)),
        unattributed,
      ]),
      [[
        known(bytes(8540 * MIB)),
        known([known(bytes(8500 * MIB)), known(bytes(8500 * MIB))]),
        known(bytes(40 * MIB)),
      ]],
    );
  }
  const table = renderSnapshotTable(snapshotOfText(parseSmiText(readSmiFixture("table_590_mig.txt"))));
  assert.match(table, /^16\.6 GiB of 140 GiB in use on 1 GPU\./m);
});

test("MIG: a container sees its instance's memory where its GPU's is kept from it", () => {
  const xml = (toSmiAnswers(SHARED)["-q -x"]?.out ?? "").replace(
    `<used>${8540} MiB</used>`,
    "<used>Insufficient Permissions</used>",
  );
  const { memoryUsed, migInstances } = onlyGpu(xml);
  assert.deepEqual([
    memoryUsed,
    mapReading(migInstances, (devices) => devices.map((each) => each.memoryUsed)),
  ], [
    absent("no-permission", "Insufficient Permissions"),
    known([known(bytes(8500 * MIB)), known(bytes(8500 * MIB))]),
  ]);
});

test("MIG: the CSV of processes names the GPU and no instance, so none is taken for known", () => {
  const { report } = parseSmiText(readSmiFixture("apps_mig_host.csv"));
  const contexts = (report.ok ? report.value.gpus : []).flatMap(({ processList }) =>
    processList.state === "unknown" ? [] : processList.contexts
  );
  assert.equal(contexts.length, 3);
  assert.deepEqual(contexts.filter((each) => "gpuInstance" in each || "computeInstance" in each), []);
});

test("MPS: clients are told from the server, and a query of compute processes leaves them out and says so", () => {
  const kinds = (report: ReturnType<typeof parseSmiText>["report"]) =>
    (report.ok ? report.value : NO_REPORT).gpus.map(({ processList: list }) => [
      list.state,
      list.state === "unknown" ? [] : [...new Set(list.contexts.map(({ kind }) => kind))],
    ]);
  assert.deepEqual(kinds(parseSmiText(readSmiFixture("table_panel_mps.txt")).report), [
    ["incomplete", ["mps-client", "compute"]],
  ]);
  assert.deepEqual(
    kinds(parseSmiText("gpu_uuid, pid, used_gpu_memory [MiB]\nGPU-00000000-0000, 12, 28 MiB\n").report),
    [["incomplete", ["compute"]]],
  );
});

const NO_REPORT: Pick<DriverReport, "gpus"> = { gpus: [] };

test("Grace: memory that is part of the machine's is read as any other", () => {
  const { name, memoryTotal, memoryUsed, busId } = onlyGpu(tableOf([
    "|   0  NVIDIA GH200 480GB             On  |   00000009:01:00.0 Off |                    0 |",
    "| N/A   33C    P0             88W /  900W |   12345MiB /  97871MiB |      3%      Default |",
    "|                                         |                        |             Disabled |",
  ], [NO_PROCESS]));
  assert.deepEqual([name, memoryTotal, memoryUsed, busId], [
    known("NVIDIA GH200 480GB"),
    known(bytes(97_871 * MIB)),
    known(bytes(12_345 * MIB)),
    known("00000009:01:00.0"),
  ]);
});
