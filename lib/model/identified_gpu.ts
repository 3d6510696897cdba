import type { Absent } from "../core/reading.ts";
import type { Gpu } from "./gpu.ts";

/** A GPU of which only the identity is known: everything else is absent for this reason. */
export function identifiedGpu(
  identity: Pick<Gpu, "index" | "uuid" | "name" | "busId" | "minor">,
  reason: Absent,
): Gpu {
  return {
    ...identity,
    memoryTotal: reason,
    memoryUsed: reason,
    memoryReserved: reason,
    memoryFree: reason,
    usedIncludesReserve: reason,
    utilization: reason,
    persistenceMode: reason,
    computeMode: reason,
    displayActive: reason,
    migMode: reason,
    migInstances: reason,
    recoveryAction: reason,
    processList: { state: "unknown", reason },
  };
}
