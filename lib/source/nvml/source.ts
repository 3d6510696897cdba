import { readFileSync } from "node:fs";
import { mapReading, type Reading } from "../../core/reading.ts";
import type { Milliseconds } from "../../core/units.ts";
import type { ClockOrder } from "../../model/clock_order.ts";
import type { DriverReport } from "../../model/gpu.ts";
import type { LookExtras } from "../../world/ports.ts";
import { resetClocks } from "./clocks.ts";
import { createIdentityReader } from "./identity.ts";
import { openNvml } from "./library.ts";
import { readNvmlReport } from "./report.ts";
import { createSlowModeReader } from "./slow_modes.ts";
import { attempt } from "./status.ts";
import { readDriver } from "./versions.ts";

/** The driver's library, opened and initialised, to be read as often as one likes. */
export interface NvmlSource {
  /** Absent only where the driver does not even count its GPUs. What one GPU lacks is absent in the report. */
  read(extras: LookExtras): Reading<DriverReport>;
}

/**
 * Opens the driver's library; absent where there is no driver.
 *
 * @param monotonic gives a moment that never runs backwards
 * @param options.library the one file to open in place of the driver's own, whether a driver is loaded or not; for tests
 * @param options.order what to do first; what keeps it from being done is why the source is absent
 */
export async function openNvmlSource(
  monotonic: () => Milliseconds,
  { library, order }: { readonly library?: string; readonly order?: ClockOrder } = {},
): Promise<Reading<NvmlSource>> {
  const opened = await openNvml(library);
  const done = opened.ok && order ? attempt(() => resetClocks(opened.value, order)) : opened;
  if (!done.ok) return done;
  return mapReading(opened, (nvml) => {
    const fixed = {
      driver: readDriver(nvml),
      pidLimit: readPidLimit(),
      identityOf: createIdentityReader(nvml),
      slowModesOf: createSlowModeReader(nvml, monotonic),
    };
    return {
      read: ({ withUtilization, withHealth = false, withAccounting = false }) =>
        attempt(() => readNvmlReport(nvml, { ...fixed, withUtilization, withHealth, withAccounting })),
    };
  });
}

/** One more than the largest pid of this PID namespace; the kernel's own bound where that cannot be read. */
function readPidLimit(): number {
  try {
    return Number(readFileSync("/proc/sys/kernel/pid_max", "utf8")) || Infinity;
  } catch {
    return Infinity; // Every pid is checked against the kernel's own bound as well.
  }
}
