import { type GpuIndex, gpuIndex } from "../../core/ids.ts";
import type { Reading } from "../../core/reading.ts";
import type { Driver, DriverReport, Gpu } from "../../model/gpu.ts";
import type { Nvml } from "./calls.ts";
import { readHandle, readU32 } from "./cells.ts";
import { readDevice } from "./device.ts";
import type { Identity } from "./identity.ts";
import type { SlowModes } from "./slow_modes.ts";
import { attempt, ImplausibleAnswer } from "./status.ts";

/** What a report is read with. */
export interface ReportOptions {
  /** It costs 3 to 4 ms a GPU at first. */
  readonly withUtilization: boolean;
  /** Another dozen calls a GPU, and three for each NVLink. */
  readonly withHealth: boolean;
  /** A call for each process that is on record. */
  readonly withAccounting: boolean;
  /** One more than the largest pid: /proc/sys/kernel/pid_max. */
  readonly pidLimit: number;
  readonly driver: Driver;
  readonly identityOf: (device: bigint) => Identity;
  readonly slowModesOf: (device: bigint) => SlowModes;
}

/** More than any machine has: a wrong count must not become a loop of hours. */
const MOST_GPUS = 1024;

/**
 * Reads the driver and all its GPUs, each by itself: one that is sick hides no other.
 *
 * @throws {NvmlError} if the driver does not even count its GPUs
 * @throws {ImplausibleAnswer} if that count cannot be true
 */
export function readNvmlReport(nvml: Nvml, options: ReportOptions): DriverReport {
  const count = readU32(nvml, "nvmlDeviceGetCount_v2");
  if (count > MOST_GPUS) throw new ImplausibleAnswer(`the driver counts ${count} GPUs`);
  const seen = Array.from({ length: count }, (_, place) => {
    const index = gpuIndex(place);
    return { index, gpu: readGpu(nvml, index, options) };
  });
  return {
    driver: options.driver,
    gpus: seen.flatMap(({ gpu }) => gpu.ok ? [gpu.value] : []),
    unreadableGpus: seen.flatMap(({ index, gpu }) => gpu.ok ? [] : [{ index, reason: gpu }]),
  };
}

/** The count holds also the GPUs that this reader may not open and those that have fallen off the bus. */
function readGpu(nvml: Nvml, index: GpuIndex, options: ReportOptions): Reading<Gpu> {
  return attempt(() => {
    const device = readHandle(nvml, "nvmlDeviceGetHandleByIndex_v2", index);
    const { withUtilization, withHealth, withAccounting, pidLimit } = options;
    return readDevice(nvml, device, {
      index,
      withUtilization,
      withHealth,
      withAccounting,
      pidLimit,
      identity: options.identityOf(device),
      slowModes: options.slowModesOf(device),
    });
  });
}
