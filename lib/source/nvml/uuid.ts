import { type GpuUuid, gpuUuid } from "../../core/ids.ts";
import type { Nvml } from "./calls.ts";
import { readText } from "./cells.ts";
import { TEXT } from "./layouts.ts";
import { ImplausibleAnswer } from "./status.ts";

/**
 * Reads the UUID of a GPU or of a MIG device. All that is kept or compared goes by it, so nothing else is taken for one.
 *
 * @throws {NvmlError}
 * @throws {ImplausibleAnswer}
 */
export function readUuid(nvml: Nvml, device: bigint): GpuUuid {
  const text = readText(nvml, "nvmlDeviceGetUUID", TEXT.uuid, device);
  // Drivers before 470 name a MIG device `MIG-GPU-UUID/GI/CI`.
  if (!/^(GPU|MIG)-[\w/-]{1,88}$/.test(text)) {
    throw new ImplausibleAnswer(`the driver gives ${JSON.stringify(text)} as a UUID`);
  }
  return gpuUuid(text);
}
