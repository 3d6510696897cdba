import type { AllowedDevice } from "../model/isolation.ts";
import type { Gpu } from "../model/gpu.ts";
import type { GpuUuid } from "../core/ids.ts";
import { type GpuSelector, migDevicesNamed } from "./select_gpus.ts";

/** What a `--gpu` list gives of the GPUs that it chose: a MIG device that it names by UUID, the whole GPU otherwise. */
export function allowedDevices(
  chosen: readonly Gpu[],
  selectors: readonly GpuSelector[],
): readonly AllowedDevice[] {
  return chosen.flatMap((gpu): readonly AllowedDevice[] => {
    const named = new Set(selectors.flatMap((selector) => migDevicesNamed(gpu, selector)));
    return named.size > 0
      ? Array.from(named, ({ uuid }) => ({ gpu: gpu.uuid, mig: uuid }))
      : [{ gpu: gpu.uuid }];
  });
}

/** The UUID that CUDA knows a device by, which means the same in whatever order the driver counts. */
export function uuidOf({ gpu, mig }: AllowedDevice): GpuUuid {
  return mig ?? gpu;
}
