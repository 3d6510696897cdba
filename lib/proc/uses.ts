import { known, mapReading, type Reading } from "../core/reading.ts";
import type { DeviceUse } from "../model/observation.ts";
import type { HeldNode } from "./descriptors.ts";
import { nodeKey } from "./devices.ts";
import type { NodeMappings } from "./maps.ts";

/** Joins what one process has open with what it has mapped: a mapping keeps a node in use after its descriptor is closed. */
export function joinUses(
  held: readonly HeldNode[],
  mappings: Reading<readonly NodeMappings[]>,
): readonly DeviceUse[] {
  const open = held.map(({ node, descriptors }): DeviceUse => ({
    node,
    descriptors: descriptors.length,
    mappings: mapReading(mappings, (all) => all.find(isOf(nodeKey(node)))?.lines ?? 0),
  }));
  const mappedOnly = (mappings.ok ? mappings.value : [])
    .filter(({ node }) => !held.some(isOf(nodeKey(node))))
    .map(({ node, lines }): DeviceUse => ({ node, descriptors: 0, mappings: known(lines) }));
  return [...open, ...mappedOnly];
}

/** Says whether a process has the driver's descriptors and has not started the driver itself: nvidia-uvm is open, not mapped. */
export function hasInheritedNodes(uses: readonly DeviceUse[]): boolean {
  return uses.some(({ node, descriptors, mappings }) =>
    node.kind === "uvm" && descriptors > 0 && mappings.ok && mappings.value === 0
  );
}

function isOf(key: string): (other: Pick<DeviceUse, "node">) => boolean {
  return ({ node }) => nodeKey(node) === key;
}
