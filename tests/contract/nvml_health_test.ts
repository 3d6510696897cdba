/** What bears on a reset, read through the FFI from the stand-in for the driver's library. */
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { parseBusId } from "../../lib/core/ids.ts";
import { absent, known } from "../../lib/core/reading.ts";
import type { GpuHealth } from "../../lib/model/gpu_health.ts";
import { readReport, SOUND_HEALTH as SOUND } from "../support/driver_reports.ts";
import { buildStub, type ScenarioGpu, type Stub } from "../support/nvml_stub.ts";

let stub: Stub;
before(() => stub = buildStub());
after(() => stub[Symbol.dispose]());

const NO_FABRIC = SOUND.fabric;
/** The calls beside those of the NVLinks, and what each gives. */
const CALLS = {
  nvmlDeviceGetEccMode: "ecc",
  nvmlDeviceGetTotalEccErrors: "uncorrectedErrors",
  nvmlDeviceGetRemappedRows: "remappedRows",
  nvmlDeviceGetRetiredPagesPendingStatus: "hasRetirementPending",
  nvmlDeviceGetVirtualizationMode: "virtualization",
  nvmlDeviceGetGpuFabricInfoV: "fabric",
  nvmlDeviceGetClockInfo: "smClockMegahertz",
  nvmlDeviceGetArchitecture: "architecture",
} as const;

async function readHealth(gpu: ScenarioGpu, library = stub): Promise<GpuHealth | undefined> {
  const report = await readReport(library, { gpus: [gpu] }, { withHealth: true });
  return report.ok ? report.value.gpus[0]?.health : undefined;
}

test("openNvmlSource() reads the health of a GPU only when asked", async () => {
  const report = await readReport(stub, { gpus: [{}] });
  assert.equal(report.ok && report.value.gpus[0] && "health" in report.value.gpus[0], false);
  assert.deepEqual(await readHealth({}), SOUND);
});

test("openNvmlSource() reads what a reset would mend, each number from its own place", async () => {
  const health = {
    ecc: [0, 1],
    uncorrectedErrors: 2 ** 40 + 1,
    remappedRows: [3, 5, 1, 0],
    retirementPending: 1,
    virtualization: 3,
    fabric: [3, 23],
    smClock: 1980,
    architecture: 7,
  } as const;
  assert.deepEqual(await readHealth({ health }), {
    ...SOUND,
    ecc: known({ current: false, pending: true }),
    uncorrectedErrors: known(2 ** 40 + 1),
    remappedRows: known({ correctable: 3, uncorrectable: 5, isPending: true, hasFailed: false }),
    hasRetirementPending: known(true),
    virtualization: known("vgpu-host"),
    fabric: known({ state: "completed", status: 23 }),
    smClockMegahertz: known(1980),
    architecture: known("Ampere"),
  });
  assert.deepEqual((await readHealth({ health: { remappedRows: [0, 0, 0, 1] } }))?.remappedRows, {
    ok: true,
    value: { correctable: 0, uncorrectable: 0, isPending: false, hasFailed: true },
  });
});

test("openNvmlSource() names each state of the fabric", async () => {
  const states = [];
  for (const state of [0, 1, 2, 3, 4]) {
    states.push((await readHealth({ health: { fabric: [state, 0] } }))?.fabric);
  }
  assert.deepEqual(states, [
    NO_FABRIC,
    known({ state: "not-started", status: 0 }),
    known({ state: "in-progress", status: 0 }),
    known({ state: "completed", status: 0 }),
    absent("implausible", "the driver gives 4 as the state of the fabric"),
  ]);
});

for (const status of [13, 25]) {
  test(`openNvmlSource() takes the first form of the fabric's state when the second answers ${status}`, async () => {
    const gpu = { health: { fabric: [2, 29] }, fail: { nvmlDeviceGetGpuFabricInfoV: status } } as const;
    assert.deepEqual((await readHealth(gpu))?.fabric, known({ state: "in-progress", status: 29 }));
  });
}

for (const [call, value] of Object.entries(CALLS)) {
  test(`openNvmlSource() gives no value for a ${call} that is not supported, and all others`, async () => {
    const why = absent("not-supported", `${call}: Not Supported (NVML_ERROR_NOT_SUPPORTED)`);
    assert.deepEqual(await readHealth({ fail: { [call]: 3 } }), { ...SOUND, [value]: why });
  });
}

test("openNvmlSource() gives no health at all, and a report, with a library that has none of the calls", async () => {
  const links = ["nvmlDeviceGetNvLinkState", "nvmlDeviceGetGpuFabricInfo"];
  using old = buildStub({ without: [...Object.keys(CALLS), ...links] });
  const none = (call: string) =>
    absent("not-supported", `${call}: Function Not Found (NVML_ERROR_FUNCTION_NOT_FOUND)`);
  const expected = Object.entries(CALLS).map(([call, value]) => [value, none(call)]);
  assert.deepEqual(await readHealth({}, old), {
    ...Object.fromEntries(expected),
    nvlinkPeers: none("nvmlDeviceGetNvLinkState"),
    hasNvSwitch: none("nvmlDeviceGetNvLinkState"),
    fabric: none("nvmlDeviceGetGpuFabricInfo"),
  });
});

test("openNvmlSource() refuses numbers that no mode has", async () => {
  const health = {
    ecc: [1, 2],
    remappedRows: [0, 0, 7, 0],
    retirementPending: 5,
    virtualization: 9,
  } as const;
  assert.deepEqual(await readHealth({ health: { ...health, architecture: 0xffff_ffff } }), {
    ...SOUND,
    ecc: absent("implausible", "the driver gives 2 as pending ECC mode, which is neither on nor off"),
    remappedRows: absent(
      "implausible",
      "the driver gives 7 as pending row remapping, which is neither on nor off",
    ),
    hasRetirementPending: absent(
      "implausible",
      "nvmlDeviceGetRetiredPagesPendingStatus gives 5, which is neither on nor off",
    ),
    virtualization: absent("implausible", "the driver gives 9 as a virtualization mode"),
    architecture: absent("not-reported", "the driver names architecture 4294967295, which has no name here"),
  });
});

test("openNvmlSource() refuses a count of errors that no number holds", async () => {
  const uncorrectedErrors = 2n ** 64n - 1n;
  assert.deepEqual(
    (await readHealth({ health: { uncorrectedErrors } }))?.uncorrectedErrors,
    absent("implausible", "the driver counts 18446744073709551615 ECC errors"),
  );
});

const [FIRST, SECOND] = ["00000000:3B:00.0", "00000000:5E:00.0"] as const;

test("openNvmlSource() names each GPU at the end of an NVLink once, behind gaps and links that are down", async () => {
  const links = {
    0: { bus: FIRST },
    1: { isUp: false, bus: "00000000:99:00.0" },
    4: { bus: SECOND },
    17: { bus: FIRST },
  };
  assert.deepEqual(await readHealth({ health: { links } }), {
    ...SOUND,
    nvlinkPeers: known([parseBusId(FIRST), parseBusId(SECOND)]),
  });
});

test("openNvmlSource() tells NVSwitches from GPUs", async () => {
  const links = { 0: { end: 2, bus: "00000000:C1:00.0" }, 1: { end: 1, bus: "00000004:01:00.0" } };
  assert.deepEqual(await readHealth({ health: { links } }), { ...SOUND, hasNvSwitch: known(true) });
});

test("openNvmlSource() knows no peers where one NVLink's end is not known", async () => {
  const health = { links: { 0: { bus: FIRST }, 1: { end: 255 } } };
  const strange = absent("implausible", "the driver gives 255 as what NVLink 1 leads to");
  assert.deepEqual(await readHealth({ health }), { ...SOUND, nvlinkPeers: strange, hasNvSwitch: strange });
  const address = absent(
    "implausible",
    'Cannot parse "none" as a PCI address: expected domain:bus:device.function',
  );
  assert.deepEqual(await readHealth({ health: { links: { 0: { bus: FIRST }, 1: {} } } }), {
    ...SOUND,
    nvlinkPeers: address,
  });
});

test("openNvmlSource() knows neither peers nor switches where the driver does not say whether a link is up", async () => {
  const health = { links: { 0: { bus: FIRST } } };
  const lost = absent("lost", "nvmlDeviceGetNvLinkState: GPU is lost (NVML_ERROR_GPU_IS_LOST)");
  assert.deepEqual(await readHealth({ health, fail: { nvmlDeviceGetNvLinkState: 15 } }), {
    ...SOUND,
    nvlinkPeers: lost,
    hasNvSwitch: lost,
  });
});
