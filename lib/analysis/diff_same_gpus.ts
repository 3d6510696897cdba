/** Two snapshots of one machine need not call its GPUs by the same ids: a table of nvidia-smi prints no UUIDs, its XML does. */
import type { GpuUuid } from "../core/ids.ts";
import { findSameGpu, isDriverUuid } from "../model/gpu_identity.ts";
import type { Snapshot } from "../model/snapshot.ts";

/** Two snapshots to be compared. */
export interface SnapshotPair {
  readonly before: Snapshot;
  readonly after: Snapshot;
}

/** Gives each GPU that both have one id in both: the driver's where one of them prints it, and else that of the second. */
export function withSameIds({ before, after }: SnapshotPair): SnapshotPair {
  const idsBefore = new Map<GpuUuid, GpuUuid>();
  const idsAfter = new Map<GpuUuid, GpuUuid>();
  const left = new Set(after.gpus.map(({ gpu }) => gpu));
  for (const { gpu } of before.gpus) {
    const same = findSameGpu(gpu, [...left]);
    if (!same) continue;
    left.delete(same);
    if (same.uuid === gpu.uuid) continue;
    if (isDriverUuid(gpu.uuid)) idsAfter.set(same.uuid, gpu.uuid);
    else idsBefore.set(gpu.uuid, same.uuid);
  }
  return { before: rename(before, idsBefore), after: rename(after, idsAfter) };
}

function rename(snapshot: Snapshot, ids: ReadonlyMap<GpuUuid, GpuUuid>): Snapshot {
  if (ids.size === 0) return snapshot;
  const idOf = (uuid: GpuUuid) => ids.get(uuid) ?? uuid;
  return {
    ...snapshot,
    gpus: snapshot.gpus.map((account) => ({
      ...account,
      gpu: { ...account.gpu, uuid: idOf(account.gpu.uuid) },
    })),
    holders: snapshot.holders.map((holder) => ({
      ...holder,
      devices: holder.devices.map((device) => ({ ...device, gpu: idOf(device.gpu) })),
    })),
    ghosts: snapshot.ghosts.map((ghost) => ({ ...ghost, gpu: idOf(ghost.gpu) })),
  };
}
