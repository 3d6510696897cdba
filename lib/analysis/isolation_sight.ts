/** What a process was shown of the machine, by its variable and by what it has mapped. */
import type { Pid } from "../core/ids.ts";
import type { Gpu } from "../model/gpu.ts";
import type { IsolatedProcess } from "../model/isolation.ts";
import type { DeviceUse } from "../model/observation.ts";
import type { VisibleDevice, VisibleDevices } from "./visible_devices.ts";

/** Where a context is. */
export interface ContextPlace {
  readonly gpu: Gpu;
  readonly context: { readonly pid: Pid; readonly gpuInstance: number | undefined };
}

/** Whether a device is the one that a context is on. A GPU instance that is not known may be any. */
export function isDeviceOf({ gpu: uuid, mig }: VisibleDevice, { gpu, context }: ContextPlace): boolean {
  if (uuid !== gpu.uuid) return false;
  if (mig === undefined || context.gpuInstance === undefined || !gpu.migInstances.ok) return true;
  const instance = gpu.migInstances.value.find((each) => each.uuid === mig)?.gpuInstance;
  return instance === undefined || !instance.ok || instance.value === context.gpuInstance;
}

/**
 * Whether a process without CUDA_VISIBLE_DEVICES was kept from some GPU all the same, so that its program must have set
 * the variable itself, and in time: a GPU that CUDA shows has two mappings, one with a context three, and one that is
 * hidden is opened without any (two H200s, driver 580.159.04). With MIG that was never measured.
 */
export function isKeptFromSome(
  process: IsolatedProcess | undefined,
  gpu: Gpu,
  { machine, visible }: {
    readonly machine: { readonly gpus: readonly Gpu[] };
    /** What CUDA would show without the variable. */
    readonly visible: Pick<VisibleDevices, "doubts">;
  },
): boolean {
  if (!process?.uses.ok || visible.doubts.includes("mig")) return false;
  const uses = process.uses.value;
  return (mappingsOf(gpu, uses) ?? 0) > 0 && machine.gpus.some((each) => mappingsOf(each, uses) === 0);
}

/** `undefined` where the process has not touched the GPU, or its mappings are not known. */
function mappingsOf({ minor }: Gpu, uses: readonly DeviceUse[]): number | undefined {
  const use = minor.ok
    ? uses.find(({ node }) => node.kind === "gpu" && node.minor === minor.value)
    : undefined;
  return use?.mappings.ok ? use.mappings.value : undefined;
}
