import { type Reading, valueOf } from "../core/reading.ts";
import type { DeviceUse } from "../model/observation.ts";

/** What a process had of each GPU's node at most, in two looks. A node that is no GPU's is left out. */
export function mostUses(before: readonly DeviceUse[], now: readonly DeviceUse[]): readonly DeviceUse[] {
  const most = new Map<number, DeviceUse>();
  for (const use of [...before, ...now]) {
    if (use.node.kind !== "gpu") continue;
    const other = most.get(use.node.minor);
    most.set(use.node.minor, other ? joinMost(other, use) : use);
  }
  return [...most.values()];
}

function joinMost(a: DeviceUse, b: DeviceUse): DeviceUse {
  return {
    node: a.node,
    descriptors: Math.max(a.descriptors, b.descriptors),
    mappings: moreOf(a.mappings, b.mappings),
  };
}

function moreOf(a: Reading<number>, b: Reading<number>): Reading<number> {
  return (valueOf(a) ?? -1) >= (valueOf(b) ?? -1) ? a : b;
}
