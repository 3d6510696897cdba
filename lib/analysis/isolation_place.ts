/** Where a job's contexts may stand. */
import type { Gpu } from "../model/gpu.ts";
import type { AllowedDevice, IsolatedGpu } from "../model/isolation.ts";
import type { WatchedContext } from "./isolation_tally.ts";

/** `untold`: on a GPU of which the job has a part, and which part the context is in is not known. */
export type Place = "allowed" | "stray" | "untold";

/** How much of a GPU is the job's. */
export function allowanceOf({ uuid }: Gpu, allowed: readonly AllowedDevice[]): IsolatedGpu["allowed"] {
  const here = allowed.filter(({ gpu }) => gpu === uuid);
  if (here.some(({ mig }) => mig === undefined)) return "wholly";
  return here.length > 0 ? "partly" : "not";
}

/** Where a context stands. MIG memory belongs to the GPU instance and is shared within it, so that is what counts. */
export function placeOf(context: WatchedContext, gpu: Gpu, allowed: readonly AllowedDevice[]): Place {
  const allowance = allowanceOf(gpu, allowed);
  if (allowance !== "partly") return allowance === "wholly" ? "allowed" : "stray";
  const instances = gpu.migInstances.ok
    ? gpu.migInstances.value.filter(({ uuid }) => allowed.some(({ mig }) => mig === uuid))
    : [];
  const known = instances.flatMap(({ gpuInstance }) => gpuInstance.ok ? [gpuInstance.value] : []);
  if (context.gpuInstance === undefined || known.length === 0) return "untold";
  if (known.includes(context.gpuInstance)) return "allowed";
  return known.length === instances.length ? "stray" : "untold";
}
