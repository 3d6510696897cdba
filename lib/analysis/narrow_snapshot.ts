import type { Gpu } from "../model/gpu.ts";
import type { Snapshot } from "../model/snapshot.ts";

/** The part of a snapshot that is about some of its GPUs. */
export function narrowSnapshot(snapshot: Snapshot, gpus: readonly Pick<Gpu, "uuid">[]): Snapshot {
  const uuids = new Set(gpus.map(({ uuid }) => uuid));
  if (snapshot.gpus.every(({ gpu }) => uuids.has(gpu.uuid))) return snapshot;
  return {
    ...snapshot,
    gpus: snapshot.gpus.filter(({ gpu }) => uuids.has(gpu.uuid)),
    holders: snapshot.holders.map((holder) => ({
      ...holder,
      devices: holder.devices.filter(({ gpu }) => uuids.has(gpu)),
    })).filter(({ devices }) => devices.length > 0),
    ghosts: snapshot.ghosts.filter(({ gpu }) => uuids.has(gpu)),
  };
}
