/** What tells GPUs apart where a source does not print their UUIDs. */
import { type BusId, type DeviceMinor, type GpuIndex, type GpuUuid, gpuUuid } from "../core/ids.ts";
import type { Gpu } from "./gpu.ts";

/** Says whether an id is the driver's own, and not one that stands in for it. */
export function isDriverUuid(uuid: GpuUuid): boolean {
  return uuid.startsWith("GPU-") || uuid.startsWith("MIG-");
}

/**
 * The id of a GPU whose UUID the source does not print: `bus:00000000:3b:00.0`, else `index:0`, else `minor:0` of its
 * device node, else `unnamed`. Two looks at one machine give a GPU the same stand-in as long as they print the same.
 */
export function standInUuid(
  known: { readonly busId?: BusId; readonly index?: GpuIndex; readonly minor?: DeviceMinor },
): GpuUuid {
  if (known.busId !== undefined) return gpuUuid(`bus:${known.busId}`);
  if (known.index === undefined && known.minor !== undefined) return gpuUuid(`minor:${known.minor}`);
  return gpuUuid(known.index === undefined ? "unnamed" : `index:${known.index}`);
}

/** The id of a MIG device that the source does not name, from its GPU's and its instances, `mig:GPU-…/2/0`. */
export function standInMigUuid(gpu: GpuUuid, instances: readonly (number | undefined)[]): GpuUuid {
  return gpuUuid(`mig:${gpu}/${instances.map((instance) => instance ?? "?").join("/")}`);
}

/**
 * The same GPU in another look at the same machine, by the best key that both have: UUID, then PCI address, then index.
 * `undefined` if it is not there, or if nothing tells.
 */
export function findSameGpu(gpu: Gpu, among: readonly Gpu[]): Gpu | undefined {
  return among.find((other) => areSame(gpu, other));
}

function areSame(a: Gpu, b: Gpu): boolean {
  if (a.uuid === b.uuid) return true;
  if (isDriverUuid(a.uuid) && isDriverUuid(b.uuid)) return false;
  if (a.busId.ok && b.busId.ok) return a.busId.value === b.busId.value;
  return hasOwnIndex(a) && hasOwnIndex(b) && a.index === b.index;
}

/** Rows that name no GPU are of any of them, and a device node need not have its GPU's number. */
function hasOwnIndex({ uuid }: Gpu): boolean {
  return uuid !== "unnamed" && !uuid.startsWith("minor:");
}
