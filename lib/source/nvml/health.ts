import { absent, known, type Reading } from "../../core/reading.ts";
import {
  type GpuHealth,
  type PendingMode,
  type RemappedRows,
  VIRTUALIZATION_MODES,
  type VirtualizationMode,
} from "../../model/gpu_health.ts";
import type { Nvml } from "./calls.ts";
import { type Cell, createCell, readU32 } from "./cells.ts";
import { readFabric } from "./fabric.ts";
import { readNvlinks } from "./nvlink.ts";
import { attempt, ImplausibleAnswer } from "./status.ts";
import { readSwitch } from "./switches.ts";

/** nvmlMemoryErrorType_t, nvmlEccCounterType_t and nvmlClockType_t, as far as they are asked for. */
const UNCORRECTED = 1;
const VOLATILE = 0;
const SM_CLOCK = 1;

/** nvmlDeviceArchitecture_t. */
const ARCHITECTURES: Readonly<Record<number, string>> = {
  2: "Kepler",
  3: "Maxwell",
  4: "Pascal",
  5: "Volta",
  6: "Turing",
  7: "Ampere",
  8: "Ada",
  9: "Hopper",
  10: "Blackwell",
  13: "Rubin",
};

/** Reads what bears on a reset of one GPU. Each value that it does not give is absent by itself. */
export function readHealth(nvml: Nvml, device: bigint): GpuHealth {
  return {
    ecc: attempt(() => readEccMode(nvml, device)),
    uncorrectedErrors: attempt(() => readUncorrectedErrors(nvml, device)),
    remappedRows: attempt(() => readRemappedRows(nvml, device)),
    hasRetirementPending: readSwitch(nvml, "nvmlDeviceGetRetiredPagesPendingStatus", device),
    ...readNvlinks(nvml, device),
    virtualization: attempt(() => readVirtualization(nvml, device)),
    fabric: readFabric(nvml, device),
    smClockMegahertz: attempt(() => readU32(nvml, "nvmlDeviceGetClockInfo", device, SM_CLOCK)),
    architecture: readArchitecture(nvml, device),
  };
}

function readEccMode(nvml: Nvml, device: bigint): PendingMode {
  const current = createCell(4);
  const pending = createCell(4);
  nvml.call("nvmlDeviceGetEccMode", device, current.bytes, pending.bytes);
  return { current: flagOf(current, "ECC mode"), pending: flagOf(pending, "pending ECC mode") };
}

function readUncorrectedErrors(nvml: Nvml, device: bigint): number {
  const { bytes, view } = createCell(8);
  nvml.call("nvmlDeviceGetTotalEccErrors", device, UNCORRECTED, VOLATILE, bytes);
  const count = view.getBigUint64(0, true);
  if (count > Number.MAX_SAFE_INTEGER) throw new ImplausibleAnswer(`the driver counts ${count} ECC errors`);
  return Number(count);
}

function readRemappedRows(nvml: Nvml, device: bigint): RemappedRows {
  const correctable = createCell(4);
  const uncorrectable = createCell(4);
  const pending = createCell(4);
  const failed = createCell(4);
  const cells = [correctable, uncorrectable, pending, failed].map(({ bytes }) => bytes);
  nvml.call("nvmlDeviceGetRemappedRows", device, ...cells);
  return {
    correctable: correctable.view.getUint32(0, true),
    uncorrectable: uncorrectable.view.getUint32(0, true),
    isPending: flagOf(pending, "pending row remapping"),
    hasFailed: flagOf(failed, "failed row remapping"),
  };
}

function readVirtualization(nvml: Nvml, device: bigint): VirtualizationMode {
  const value = readU32(nvml, "nvmlDeviceGetVirtualizationMode", device);
  const mode = VIRTUALIZATION_MODES[value];
  if (mode === undefined) throw new ImplausibleAnswer(`the driver gives ${value} as a virtualization mode`);
  return mode;
}

function readArchitecture(nvml: Nvml, device: bigint): Reading<string> {
  const value = attempt(() => readU32(nvml, "nvmlDeviceGetArchitecture", device));
  if (!value.ok) return value;
  const name = ARCHITECTURES[value.value];
  return name === undefined
    ? absent("not-reported", `the driver names architecture ${value.value}, which has no name here`)
    : known(name);
}

function flagOf({ view }: Cell, what: string): boolean {
  const value = view.getUint32(0, true);
  if (value > 1) {
    throw new ImplausibleAnswer(`the driver gives ${value} as ${what}, which is neither on nor off`);
  }
  return value === 1;
}
