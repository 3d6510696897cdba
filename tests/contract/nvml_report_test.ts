/** Whole reports, read through the FFI from the stand-in for the driver's library. */
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { deviceMinor, gpuIndex, gpuUuid, parseBusId } from "../../lib/core/ids.ts";
import { absent, known, type Reading } from "../../lib/core/reading.ts";
import { bytes, milliseconds, percent } from "../../lib/core/units.ts";
import type { Gpu } from "../../lib/model/gpu.ts";
import { openNvmlSource } from "../../lib/source/nvml/source.ts";
import { context, DRIVER, idleGpu, readReport, reportOf } from "../support/driver_reports.ts";
import { buildStub, loadScenario, type ScenarioGpu, type Stub } from "../support/nvml_stub.ts";

const TOTAL = 150_754_820_096;
const RESERVED = 644_939_776;

let stub: Stub;
before(() => stub = buildStub());
after(() => stub[Symbol.dispose]());

test("openNvmlSource() reads an idle GPU", async () => {
  assert.deepEqual(await readReport(stub, { gpus: [{}] }), reportOf(idleGpu(0)));
});

test("openNvmlSource() gives a report without GPUs when the driver has none", async () => {
  assert.deepEqual(await readReport(stub, { gpus: [] }), reportOf());
});

test("openNvmlSource() reads sixteen GPUs", async () => {
  const gpus = Array.from({ length: 16 }, (_, index) => idleGpu(index));
  assert.deepEqual(await readReport(stub, { gpus: gpus.map(() => ({})) }), reportOf(...gpus));
});

test("openNvmlSource() reads utilization only when asked", async () => {
  const scenario = { gpus: [{ utilization: 37 }] };
  assert.deepEqual(await readReport(stub, scenario), reportOf(idleGpu(0)));
  assert.deepEqual(
    await readReport(stub, scenario, { withUtilization: true }),
    reportOf(idleGpu(0, { utilization: known(percent(37)) })),
  );
});

test("openNvmlSource() reads modes, minor and bus id as the driver has them", async () => {
  const gpu = { persistence: 0, computeMode: 3, display: 1, minor: 5, bus: "00000001:C1:00.0" };
  assert.deepEqual(
    await readReport(stub, { gpus: [gpu] }),
    reportOf(idleGpu(0, {
      persistenceMode: known(false),
      computeMode: known("exclusive-process"),
      displayActive: known(true),
      minor: known(deviceMinor(5)),
      busId: known(parseBusId("00000001:c1:00.0")),
    })),
  );
});

test("openNvmlSource() keeps used and reserved apart by version 2 of the memory call", async () => {
  assert.deepEqual(
    await readReport(stub, { gpus: [{ usedBytes: 2 ** 30 }] }),
    reportOf(idleGpu(0, {
      memoryUsed: known(bytes(2 ** 30)),
      memoryFree: known(bytes(TOTAL - RESERVED - 2 ** 30)),
    })),
  );
});

for (const status of [13, 25]) {
  test(`openNvmlSource() says that used includes the reserve when version 2 answers ${status}`, async () => {
    const gpu = { usedBytes: 2 ** 30, fail: { nvmlDeviceGetMemoryInfo_v2: status } };
    assert.deepEqual(
      await readReport(stub, { gpus: [gpu] }),
      reportOf(idleGpu(0, {
        memoryUsed: known(bytes(2 ** 30 + RESERVED)),
        memoryReserved: absent(
          "not-supported",
          "nvmlDeviceGetMemoryInfo does not tell the driver's reserve apart",
        ),
        memoryFree: known(bytes(TOTAL - RESERVED - 2 ** 30)),
        usedIncludesReserve: known(true),
      })),
    );
  });
}

test("openNvmlSource() leaves memory absent, and the processes known, on a GPU without memory of its own", async () => {
  const none = absent(
    "not-supported",
    "nvmlDeviceGetMemoryInfo_v2: Not Supported (NVML_ERROR_NOT_SUPPORTED)",
  );
  const gpu = {
    fail: { nvmlDeviceGetMemoryInfo_v2: 3 },
    processes: [{ pid: 300, usedBytes: 4096 }],
  };
  assert.deepEqual(
    await readReport(stub, { gpus: [gpu] }),
    reportOf(
      idleGpu(0, { ...memoryAs(none), processList: { state: "known", contexts: [context(300, 4096)] } }),
    ),
  );
});

test("openNvmlSource() does not take 0 bytes of memory for free memory", async () => {
  assert.deepEqual(
    await readReport(stub, { gpus: [{ totalBytes: 0, reservedBytes: 0 }] }),
    reportOf(
      idleGpu(0, memoryAs(absent("implausible", "the driver says that the GPU has 0 bytes of memory"))),
    ),
  );
});

test("openNvmlSource() refuses memory numbers when a part exceeds the whole", async () => {
  assert.deepEqual(
    await readReport(stub, { gpus: [{ totalBytes: 1000, reservedBytes: 0, usedBytes: 1001 }] }),
    reportOf(
      idleGpu(
        0,
        memoryAs(absent("implausible", "the driver says that 1001 of 1000 bytes of memory are used")),
      ),
    ),
  );
});

test("openNvmlSource() reads the other GPUs when one is lost, denied or in need of a reset", async () => {
  const refusing = (status: number): ScenarioGpu => ({ fail: { nvmlDeviceGetHandleByIndex_v2: status } });
  assert.deepEqual(
    await readReport(stub, { gpus: [{}, refusing(15), refusing(4), refusing(16), {}] }),
    known({
      driver: DRIVER,
      gpus: [idleGpu(0), idleGpu(4)],
      unreadableGpus: [
        {
          index: gpuIndex(1),
          reason: absent("lost", "nvmlDeviceGetHandleByIndex_v2: GPU is lost (NVML_ERROR_GPU_IS_LOST)"),
        },
        {
          index: gpuIndex(2),
          reason: absent(
            "no-permission",
            "nvmlDeviceGetHandleByIndex_v2: Insufficient Permissions (NVML_ERROR_NO_PERMISSION)",
          ),
        },
        {
          index: gpuIndex(3),
          reason: absent(
            "reset-required",
            "nvmlDeviceGetHandleByIndex_v2: GPU requires reset (NVML_ERROR_RESET_REQUIRED)",
          ),
        },
      ],
    }),
  );
});

test("openNvmlSource() says of each value that a GPU is lost when it goes between two calls", async () => {
  const calls = [
    "nvmlDeviceGetName",
    "nvmlDeviceGetPciInfo_v3",
    "nvmlDeviceGetMinorNumber",
    "nvmlDeviceGetMemoryInfo_v2",
    "nvmlDeviceGetPersistenceMode",
    "nvmlDeviceGetComputeMode",
    "nvmlDeviceGetDisplayActive",
    "nvmlDeviceGetMigMode",
    "nvmlDeviceGetFieldValues",
    "nvmlDeviceGetComputeRunningProcesses_v2",
    "nvmlDeviceGetGraphicsRunningProcesses_v2",
    "nvmlDeviceGetMPSComputeRunningProcesses_v2",
  ];
  const lost = (call: string) => absent("lost", `${call}: GPU is lost (NVML_ERROR_GPU_IS_LOST)`);
  const gpu = { fail: Object.fromEntries(calls.map((call) => [call, 15])) };
  assert.deepEqual(
    await readReport(stub, { gpus: [gpu] }),
    reportOf(idleGpu(0, {
      name: lost("nvmlDeviceGetName"),
      busId: lost("nvmlDeviceGetPciInfo_v3"),
      minor: lost("nvmlDeviceGetMinorNumber"),
      ...memoryAs(lost("nvmlDeviceGetMemoryInfo_v2")),
      persistenceMode: lost("nvmlDeviceGetPersistenceMode"),
      computeMode: lost("nvmlDeviceGetComputeMode"),
      displayActive: lost("nvmlDeviceGetDisplayActive"),
      migMode: lost("nvmlDeviceGetMigMode"),
      migInstances: lost("nvmlDeviceGetMigMode"),
      recoveryAction: lost("nvmlDeviceGetFieldValues"),
      processList: { state: "unknown", reason: lost("nvmlDeviceGetComputeRunningProcesses_v2") },
    })),
  );
});

test("openNvmlSource() replaces the bytes of a name that are no text and keeps escape codes for the renderer", async () => {
  const name = new Uint8Array([0xf8, 0x1b, ...new TextEncoder().encode("[2J H200")]);
  assert.deepEqual(
    await readReport(stub, { gpus: [{ name }] }),
    reportOf(idleGpu(0, { name: known("\ufffd\u001b[2J H200") })),
  );
});

test("openNvmlSource() does not open a GPU whose UUID is none", async () => {
  assert.deepEqual(
    await readReport(stub, { gpus: [{ uuid: "\u00f8\u00f8" }, {}] }),
    known({
      driver: DRIVER,
      gpus: [idleGpu(1)],
      unreadableGpus: [{
        index: gpuIndex(0),
        reason: absent("implausible", 'the driver gives "\u00f8\u00f8" as a UUID'),
      }],
    }),
  );
});

test("openNvmlSource() refuses values that no GPU can have", async () => {
  const gpu = { bus: "nowhere", minor: 4_000_000_000, computeMode: 9, display: 7, utilization: 101 };
  assert.deepEqual(
    await readReport(stub, { gpus: [gpu] }, { withUtilization: true }),
    reportOf(idleGpu(0, {
      busId: absent(
        "implausible",
        'Cannot parse "nowhere" as a PCI address: expected domain:bus:device.function',
      ),
      minor: absent(
        "implausible",
        "Cannot make a device minor as it must be from 0 to 2^20 - 1: current value is 4000000000",
      ),
      computeMode: absent("implausible", "the driver gives 9 as a compute mode"),
      displayActive: absent(
        "implausible",
        "nvmlDeviceGetDisplayActive gives 7, which is neither on nor off",
      ),
      utilization: absent(
        "implausible",
        "Cannot make a percentage as it must be from 0 to 100: current value is 101",
      ),
    })),
  );
});

const FIELD_CASES: readonly (readonly [string, ScenarioGpu["fields"], Gpu["recoveryAction"]])[] = [
  ["field 230 names an action", [{ id: 230, value: 4 }], known("drain-and-reset")],
  [
    "field 230 has a value of a later driver",
    [{ id: 230, value: 12 }],
    absent("not-reported", "the driver names recovery action 12, which has no name here"),
  ],
  [
    "there are only the older fields and both are clear",
    [{ id: 226, value: 0 }, { id: 227, value: 0 }],
    known("none"),
  ],
  ["an older field asks for a reset", [{ id: 226, value: 1 }, { id: 227, value: 1 }], known("reset")],
  ["an older field asks to drain", [{ id: 226, value: 0 }, { id: 227, value: 1 }], known("drain-and-reset")],
  [
    "one of the older fields is missing",
    [{ id: 226, value: 0 }],
    absent("not-supported", "the driver has no field 227"),
  ],
  ["the driver has none of the fields", [], absent("not-supported", "the driver has no field 226")],
  [
    "the field itself says that a reset is due",
    [{ id: 230, value: 0, status: 16 }],
    absent(
      "reset-required",
      "nvmlDeviceGetFieldValues of field 230: GPU requires reset (NVML_ERROR_RESET_REQUIRED)",
    ),
  ],
];
for (const [what, fields = [], recoveryAction] of FIELD_CASES) {
  test(`openNvmlSource() reads the recovery action when ${what}`, async () => {
    assert.deepEqual(
      await readReport(stub, { gpus: [{ fields }] }),
      reportOf(idleGpu(0, { recoveryAction })),
    );
  });
}

test("openNvmlSource() reads the slow modes again after a second and not before", async () => {
  let now = 0;
  await loadScenario(stub, { gpus: [{ display: 0 }] });
  const source = await openNvmlSource(() => milliseconds(now), { library: stub.library });
  assert.ok(source.ok);
  const displayAt = (moment: number) => {
    now = moment;
    const report = source.value.read({ withUtilization: false });
    return report.ok ? report.value.gpus[0]?.displayActive : report;
  };
  assert.deepEqual(displayAt(0), known(false));
  await loadScenario(stub, { gpus: [{ display: 1 }] });
  assert.deepEqual(displayAt(999), known(false));
  assert.deepEqual(displayAt(1000), known(true));
});

test("openNvmlSource() reads a GPU's name again until it has it, and then no more", async () => {
  await loadScenario(stub, { gpus: [{ fail: { nvmlDeviceGetName: 999 } }] });
  const source = await openNvmlSource(() => milliseconds(0), { library: stub.library });
  assert.ok(source.ok);
  const readName = () => {
    const report = source.value.read({ withUtilization: false });
    return report.ok ? report.value.gpus[0]?.name : report;
  };
  assert.deepEqual(readName(), absent("failed", "nvmlDeviceGetName: Unknown Error (NVML_ERROR_UNKNOWN)"));
  await loadScenario(stub, { gpus: [{}] });
  assert.deepEqual(readName(), known("NVIDIA H200"));
  await loadScenario(stub, { gpus: [{ fail: { nvmlDeviceGetName: 999 } }] });
  assert.deepEqual(readName(), known("NVIDIA H200"));
});

test("openNvmlSource() reads MIG instances, those of one GPU instance with the same memory", async () => {
  const instance = (name: string, gi: number, ci: number) => ({
    uuid: `MIG-00000000-0000-0000-0000-0000000000${gi}${ci}`,
    name: `NVIDIA H200 MIG ${name}`,
    gpuInstance: gi,
    computeInstance: ci,
    totalBytes: 70 * 2 ** 30,
    usedBytes: gi * 2 ** 30,
  });
  const gpu: ScenarioGpu = {
    mig: { current: 1, pending: 0 },
    instances: [instance("1c.3g.71gb", 2, 0), { status: 6 }, instance("1c.3g.71gb", 2, 1), { status: 4 }],
    processes: [{ pid: 41, usedBytes: 4096, gpuInstance: 2, computeInstance: 1 }],
  };
  const expected = (gi: number, ci: number) => ({
    uuid: gpuUuid(`MIG-00000000-0000-0000-0000-0000000000${gi}${ci}`),
    gpuInstance: known(gi),
    computeInstance: known(ci),
    profile: known("1c.3g.71gb"),
    memoryTotal: known(bytes(70 * 2 ** 30)),
    memoryUsed: known(bytes(gi * 2 ** 30)),
  });
  assert.deepEqual(
    await readReport(stub, { gpus: [gpu] }),
    reportOf(idleGpu(0, {
      migMode: known({ current: true, pending: false }),
      migInstances: known([expected(2, 0), expected(2, 1)]),
      processList: { state: "known", contexts: [context(41, 4096, { gpuInstance: 2, computeInstance: 1 })] },
    })),
  );
});

test("openNvmlSource() reads an instance's memory in a container that may not read the parent's", async () => {
  const denied = absent(
    "no-permission",
    "nvmlDeviceGetMemoryInfo_v2: Insufficient Permissions (NVML_ERROR_NO_PERMISSION)",
  );
  const uuid = "MIG-41b35a1f-0000-0000-0000-000000000000";
  const gpu: ScenarioGpu = {
    mig: { current: 1, pending: 1 },
    fail: { nvmlDeviceGetMemoryInfo_v2: 4 },
    instances: [{ uuid, name: "H200", gpuInstance: 1, computeInstance: 0, totalBytes: 1000, usedBytes: 10 }],
  };
  assert.deepEqual(
    await readReport(stub, { gpus: [gpu] }),
    reportOf(idleGpu(0, {
      ...memoryAs(denied),
      migMode: known({ current: true, pending: true }),
      migInstances: known([{
        uuid: gpuUuid(uuid),
        gpuInstance: known(1),
        computeInstance: known(0),
        profile: absent("not-reported", "the device's name has no profile"),
        memoryTotal: known(bytes(1000)),
        memoryUsed: known(bytes(10)),
      }]),
    })),
  );
});

test("openNvmlSource() does not say that there are no MIG instances when it may see none", async () => {
  const gpu = { mig: { current: 1, pending: 1 }, instances: [{ status: 4 }, { status: 6 }] };
  assert.deepEqual(
    await readReport(stub, { gpus: [gpu] }),
    reportOf(idleGpu(0, {
      migMode: known({ current: true, pending: true }),
      migInstances: absent(
        "no-permission",
        "nvmlDeviceGetMigDeviceHandleByIndex: Insufficient Permissions (NVML_ERROR_NO_PERMISSION)",
      ),
    })),
  );
});

function memoryAs(reason: Reading<never>): Partial<Gpu> {
  return {
    memoryTotal: reason,
    memoryUsed: reason,
    memoryReserved: reason,
    memoryFree: reason,
    usedIncludesReserve: reason,
  };
}
