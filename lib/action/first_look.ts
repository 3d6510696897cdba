/** What the first look at a machine settles for whoever judges where jobs are on it. */
import { GpuctlError } from "../core/errors.ts";
import { absent, formatAbsent } from "../core/reading.ts";
import { type Milliseconds, milliseconds } from "../core/units.ts";
import type { DriverReport } from "../model/gpu.ts";
import type { Observation } from "../model/observation.ts";
import type { LookOptions } from "../world/ports.ts";

/** A look is due each interval, and is answered by its deadline or counts as missed: more between two was never meant. */
export function patienceOf(
  { interval, look }: { readonly interval: Milliseconds; readonly look: LookOptions },
): Milliseconds {
  return milliseconds(interval + look.within);
}

/** What the driver said. @throws {GpuctlError} `unavailable` if it said nothing. */
export function answered({ report, source, problems }: Observation, consequence: string): DriverReport {
  // GPUs that only the kernel names have no list of processes to judge by.
  const silence = source === "proc"
    ? problems.find(({ subject }) => subject === "driver")?.reason ?? absent("not-reported")
    : undefined;
  if (report.ok && silence === undefined) return report.value;
  const reason = report.ok ? silence ?? absent("not-reported") : report;
  throw new GpuctlError(
    "unavailable",
    `Cannot look at the GPUs as the driver gave no answer: ${formatAbsent(reason)}`,
    { hint: consequence },
  );
}

/** Whether the driver drops, without an error, the rows of pids that this reader's PID namespace does not have. */
export function hidesRows({ scan }: Observation): boolean {
  if (!scan.ok) return true;
  const { isInitialPidNamespace } = scan.value.reader;
  return !isInitialPidNamespace.ok || !isInitialPidNamespace.value;
}
