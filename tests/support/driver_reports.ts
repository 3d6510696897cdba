/** The reports that the driver library's stand-in leads to, for tests to say only what differs. */
import { deviceMinor, gpuIndex, gpuUuid, parseBusId, pid } from "../../lib/core/ids.ts";
import { absent, known, type Reading } from "../../lib/core/reading.ts";
import { bytes, milliseconds } from "../../lib/core/units.ts";
import type { Context, Driver, DriverReport, Gpu, ProcessList } from "../../lib/model/gpu.ts";
import type { GpuHealth } from "../../lib/model/gpu_health.ts";
import { openNvmlSource } from "../../lib/source/nvml/source.ts";
import type { LookExtras } from "../../lib/world/ports.ts";
import { loadScenario, type Scenario, type ScenarioGpu, type Stub } from "./nvml_stub.ts";

/** The driver of a scenario that says nothing of it. */
export const DRIVER: Driver = {
  version: known("580.159.04"),
  libraryVersion: known("580.159.04"),
  cudaVersion: known("13.0"),
};

/** The GPU of a scenario that says nothing of it: an idle H200. */
export function idleGpu(index: number, differences: Partial<Gpu> = {}): Gpu {
  const total = 150_754_820_096;
  const reserved = 644_939_776;
  return {
    index: gpuIndex(index),
    uuid: gpuUuid(`GPU-0000000${index.toString(16)}-1111-2222-3333-444444444444`),
    name: known("NVIDIA H200"),
    busId: known(parseBusId(`${(0x10 + index).toString(16)}:00.0`)),
    minor: known(deviceMinor(index)),
    memoryTotal: known(bytes(total)),
    memoryUsed: known(bytes(0)),
    memoryReserved: known(bytes(reserved)),
    memoryFree: known(bytes(total - reserved)),
    usedIncludesReserve: known(false),
    utilization: absent("not-asked"),
    persistenceMode: known(true),
    computeMode: known("default"),
    displayActive: known(false),
    migMode: known({ current: false, pending: false }),
    migInstances: known([]),
    recoveryAction: known("none"),
    processList: { state: "known", contexts: [] },
    ...differences,
  };
}

/** The health of a scenario that says nothing of it: a Hopper without NVLinks. */
export const SOUND_HEALTH: GpuHealth = {
  ecc: known({ current: true, pending: true }),
  uncorrectedErrors: known(0),
  remappedRows: known({ correctable: 0, uncorrectable: 0, isPending: false, hasFailed: false }),
  hasRetirementPending: known(false),
  nvlinkPeers: known([]),
  hasNvSwitch: known(false),
  virtualization: known("none"),
  fabric: absent("not-supported", "this GPU is in no NVLink fabric"),
  smClockMegahertz: known(345),
  architecture: known("Hopper"),
};

/** A context of the compute list. */
export function context(processId: number, used: number, differences: Partial<Context> = {}): Context {
  return { pid: pid(processId), kind: "compute", used: known(bytes(used)), ...differences };
}

/** Reads the stand-in in this very process. */
export async function readReport(
  stub: Stub,
  scenario: Scenario,
  extras: Partial<LookExtras> = {},
): Promise<Reading<DriverReport>> {
  await loadScenario(stub, scenario);
  const source = await openNvmlSource(() => milliseconds(0), { library: stub.library });
  return source.ok ? source.value.read({ withUtilization: false, ...extras }) : source;
}

/** Reads the process list of a machine with one GPU. */
export async function readList(
  stub: Stub,
  gpu: ScenarioGpu,
  scenario: Partial<Scenario> = {},
): Promise<ProcessList> {
  const report = await readReport(stub, { ...scenario, gpus: [gpu] });
  const list = report.ok ? report.value.gpus[0]?.processList : undefined;
  if (list === undefined) throw new Error(`Cannot read the process list: ${JSON.stringify(report)}`);
  return list;
}

/** The report of a machine whose GPUs could all be opened. */
export function reportOf(...gpus: readonly Gpu[]): Reading<DriverReport> {
  return known({ driver: DRIVER, gpus, unreadableGpus: [] });
}
