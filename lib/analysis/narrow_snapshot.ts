import type { Gpu, UnreadableGpu } from "../model/gpu.ts";
import type { Snapshot } from "../model/snapshot.ts";

/** Some of a snapshot's GPUs. */
export interface SomeGpus {
  readonly gpus: readonly Pick<Gpu, "uuid">[];
  readonly unreadable: readonly UnreadableGpu[];
}

/** The part of a snapshot that is about some of its GPUs. */
export function narrowSnapshot(snapshot: Snapshot, { gpus, unreadable }: SomeGpus): Snapshot {
  const uuids = new Set(gpus.map(({ uuid }) => uuid));
  const isWhole = snapshot.gpus.every(({ gpu }) => uuids.has(gpu.uuid)) &&
    unreadable.length === snapshot.unreadableGpus.length;
  if (isWhole) return snapshot;
  return {
    ...snapshot,
    gpus: snapshot.gpus.filter(({ gpu }) => uuids.has(gpu.uuid)),
    unreadableGpus: unreadable,
    holders: snapshot.holders.map((holder) => ({
      ...holder,
      devices: holder.devices.filter(({ gpu }) => uuids.has(gpu)),
    })).filter(({ devices }) => devices.length > 0),
    ghosts: snapshot.ghosts.filter(({ gpu }) => uuids.has(gpu)),
  };
}
