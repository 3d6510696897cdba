/** What holders have of the GPUs, in the words of a table. */
import type { GpuUuid } from "../core/ids.ts";
import type { Bytes } from "../core/units.ts";
import type { HolderDevice } from "../model/snapshot.ts";
import { formatSum, NONE, UNKNOWN } from "./snapshot_columns.ts";

/** The GPUs that say most about a holder: where it has memory, or else where it is a client, or else what it has open. */
export function usedGpus(devices: readonly HolderDevice[]): GpuUuid[] {
  const withMemory = devices.filter(({ contextBytes }) => contextBytes.ok && contextBytes.value > 0);
  const mapped = devices.filter(({ isMapped }) => isMapped.ok && isMapped.value);
  const shown = [withMemory, mapped, devices].find(({ length }) => length > 0) ?? [];
  return shown.map(({ gpu }) => gpu);
}

/** The sum over the devices. A part that is not known is not left out in silence. */
export function formatMemory(devices: readonly HolderDevice[]): string {
  const parts = knownParts(devices);
  const isWhole = parts.length === devices.length;
  if (parts.every((part) => part === 0)) return isWhole ? NONE : UNKNOWN;
  return formatSum(parts) + (isWhole ? "" : `+${UNKNOWN}`);
}

/** What is known of the memory on the devices. */
export function knownParts(devices: readonly HolderDevice[]): Bytes[] {
  return devices.flatMap(({ contextBytes }) => contextBytes.ok ? [contextBytes.value] : []);
}
