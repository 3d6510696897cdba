import type { GpuIndex } from "../../core/ids.ts";
import { absent } from "../../core/reading.ts";
import { type Percent, percent } from "../../core/units.ts";
import { COMPUTE_MODES, type ComputeMode, type Gpu } from "../../model/gpu.ts";
import { readAccounting } from "./accounting.ts";
import type { Nvml } from "./calls.ts";
import { createCell, readU32 } from "./cells.ts";
import { readHealth } from "./health.ts";
import type { Identity } from "./identity.ts";
import { UTILIZATION } from "./layouts.ts";
import { readMemory } from "./memory.ts";
import { readMigInstances } from "./mig.ts";
import { readProcessList } from "./processes.ts";
import { readRecoveryAction } from "./recovery.ts";
import type { SlowModes } from "./slow_modes.ts";
import { attempt, believe, ImplausibleAnswer } from "./status.ts";
import { readSwitch } from "./switches.ts";

/** What a GPU is read with. */
export interface DeviceOptions {
  readonly index: GpuIndex;
  readonly withUtilization: boolean;
  readonly withHealth: boolean;
  readonly withAccounting: boolean;
  readonly pidLimit: number;
  readonly identity: Identity;
  readonly slowModes: SlowModes;
}

/** Reads one GPU. Each value that it does not give is absent by itself. */
export function readDevice(nvml: Nvml, device: bigint, options: DeviceOptions): Gpu {
  const memory = readMemory(nvml, device);
  const { pidLimit, slowModes } = options;
  return {
    index: options.index,
    ...options.identity,
    ...memory,
    utilization: options.withUtilization ? attempt(() => readUtilization(nvml, device)) : absent("not-asked"),
    persistenceMode: readSwitch(nvml, "nvmlDeviceGetPersistenceMode", device),
    computeMode: attempt(() => readComputeMode(nvml, device)),
    ...slowModes,
    migInstances: readMigInstances(nvml, device, slowModes.migMode),
    recoveryAction: readRecoveryAction(nvml, device),
    processList: readProcessList(nvml, device, { pidLimit, memoryTotal: memory.memoryTotal }),
    ...options.withHealth && { health: readHealth(nvml, device) },
    ...options.withAccounting && { accounting: readAccounting(nvml, device) },
  };
}

function readUtilization(nvml: Nvml, device: bigint): Percent {
  const { bytes, view } = createCell(UTILIZATION.size);
  nvml.call("nvmlDeviceGetUtilizationRates", device, bytes);
  return believe(() => percent(view.getUint32(UTILIZATION.gpu, true)));
}

function readComputeMode(nvml: Nvml, device: bigint): ComputeMode {
  const value = readU32(nvml, "nvmlDeviceGetComputeMode", device);
  const mode = COMPUTE_MODES[value];
  if (mode === undefined) throw new ImplausibleAnswer(`the driver gives ${value} as a compute mode`);
  return mode;
}
