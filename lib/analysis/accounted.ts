import type { GpuUuid } from "../core/ids.ts";
import type { AccountedProcess } from "../model/accounting.ts";
import type { Gpu } from "../model/gpu.ts";

/** Drivers keep this many records a GPU (nvmlDeviceGetAccountingBufferSize of nvml.h), and overwrite the oldest. */
const MOST_RECORDS = 4000;

/**
 * Who has used each GPU between two looks, for GPUs of which the driver kept account in both. An account that lost a
 * record meanwhile, or may have, as it is full, was cleared or overwritten: it does not name everybody.
 */
export function newlyAccounted(
  before: readonly Gpu[],
  after: readonly Gpu[],
): ReadonlyMap<GpuUuid, readonly AccountedProcess[]> {
  return new Map(
    after.flatMap(({ uuid, accounting }) => {
      const earlier = before.find((gpu) => gpu.uuid === uuid)?.accounting;
      if (!accounting?.ok || !earlier?.ok) return [];
      const known = new Set(earlier.value.map(keyOf));
      const kept = new Set(accounting.value.map(keyOf));
      if (kept.size >= MOST_RECORDS || [...known].some((key) => !kept.has(key))) return [];
      return [[uuid, accounting.value.filter((process) => !known.has(keyOf(process)))]];
    }),
  );
}

/** A pid may be another process by the next look. */
function keyOf({ pid, startedAt }: AccountedProcess): string {
  return `${pid} ${startedAt}`;
}
