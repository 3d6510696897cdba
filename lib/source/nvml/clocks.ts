import type { ClockKind, ClockOrder } from "../../model/clock_order.ts";
import type { Nvml, NvmlSymbol } from "./calls.ts";
import { readHandle } from "./cells.ts";

/** Volta and later; Ampere and later; every card, and deprecated from driver 590 on. All want root. */
const CALLS = {
  graphics: "nvmlDeviceResetGpuLockedClocks",
  memory: "nvmlDeviceResetMemoryLockedClocks",
  applications: "nvmlDeviceResetApplicationsClocks",
} as const satisfies Record<ClockKind, NvmlSymbol>;

/**
 * Sets the clocks of one GPU back.
 *
 * @throws {NvmlError} if there is no such GPU, or the driver refuses
 */
export function resetClocks(nvml: Nvml, { gpu, clocks }: ClockOrder): void {
  const uuid = new TextEncoder().encode(`${gpu}\0`);
  nvml.call(CALLS[clocks], readHandle(nvml, "nvmlDeviceGetHandleByUUID", uuid));
}
