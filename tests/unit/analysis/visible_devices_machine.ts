/** Machines as CUDA_VISIBLE_DEVICES sees them. */
import { gpuIndex, type GpuUuid, gpuUuid } from "../../../lib/core/ids.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import type { VisibleGpu, VisibleMachine } from "../../../lib/analysis/visible_devices.ts";

export const A: GpuUuid = gpuUuid("GPU-d2d80850-70bc-f510-3a0e-f958a4e8cee7");
export const B: GpuUuid = gpuUuid("GPU-7c4c2710-f091-268f-9db0-e507a579f89f");
export const MIG_A: GpuUuid = gpuUuid("MIG-377e0049-554c-540b-93c6-d0976f8426cb");
export const MIG_B: GpuUuid = gpuUuid("MIG-f39aa248-6f1b-5769-b119-8d650bb34b27");

/** One GPU without MIG. */
export function gpu(index: number, uuid: GpuUuid, name = "NVIDIA H200"): VisibleGpu {
  return {
    index: gpuIndex(index),
    uuid,
    name: known(name),
    migMode: absent("not-supported"),
    migInstances: absent("not-supported"),
  };
}

/** A GPU with MIG on and these MIG devices, numbered as GPU instance 1, 2, ... with compute instance 0. */
export function migGpu(index: number, uuid: GpuUuid, migs: readonly GpuUuid[]): VisibleGpu {
  return {
    ...gpu(index, uuid, "NVIDIA H100 80GB HBM3"),
    migMode: known({ current: true, pending: true }),
    migInstances: known(migs.map((mig, position) => ({
      uuid: mig,
      gpuInstance: known(position + 1),
      computeInstance: known(0),
      profile: known("1g.10gb"),
      memoryTotal: absent("not-reported"),
      memoryUsed: absent("not-reported"),
    }))),
  };
}

/** A machine of these GPUs; without any, two H200. */
export function machine(
  gpus: readonly VisibleGpu[] = [gpu(0, A), gpu(1, B)],
  options: Partial<VisibleMachine> = {},
): VisibleMachine {
  return { gpus, unreadableGpus: [], deviceOrder: undefined, ...options };
}
