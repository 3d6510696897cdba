/** One look at the driver while a job is watched, as it is recorded and drawn. */
import type { Pid } from "../core/ids.ts";
import type { Reading } from "../core/reading.ts";
import type { Milliseconds } from "../core/units.ts";
import type { DriverReport } from "./gpu.ts";

/** `settle`: the job has ended and its memory is coming back; `cleanup`: its leftovers are being ended. */
export const JOB_PHASES = ["run", "settle", "cleanup"] as const;
export type JobPhase = typeof JOB_PHASES[number];

export interface JobSample {
  readonly phase: JobPhase;
  /** Since the start of the job. */
  readonly at: Milliseconds;
  readonly report: Reading<DriverReport>;
  /** Whether a listed pid is the job's, as far as that was known at the time. */
  isJobs(pid: Pid): boolean;
}
