import type { Milliseconds } from "../../core/units.ts";
import type { Gpu } from "../../model/gpu.ts";
import type { Nvml } from "./calls.ts";
import { readMigMode } from "./mig.ts";
import { readSwitch } from "./switches.ts";

/** The two modes whose reading takes longer than that of all the rest of a GPU: 0.5 ms against 0.04. */
export type SlowModes = Pick<Gpu, "displayActive" | "migMode">;

/**
 * How long a mode is taken as read. Sampling ten times a second must not spend its time on what an administrator changes.
 */
const FRESH_FOR = 1000;

/**
 * Gives the slow modes of a GPU by its handle; what it gives may be one second old.
 *
 * @param monotonic gives a moment that never runs backwards
 */
export function createSlowModeReader(
  nvml: Nvml,
  monotonic: () => Milliseconds,
): (device: bigint) => SlowModes {
  const read = new Map<bigint, { readonly modes: SlowModes; readonly readAt: Milliseconds }>();
  return (device) => {
    const now = monotonic();
    const last = read.get(device);
    if (last !== undefined && now - last.readAt < FRESH_FOR) return last.modes;
    const modes = {
      displayActive: readSwitch(nvml, "nvmlDeviceGetDisplayActive", device),
      migMode: readMigMode(nvml, device),
    };
    read.set(device, { modes, readAt: now });
    return modes;
  };
}
