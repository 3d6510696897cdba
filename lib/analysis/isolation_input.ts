import type { Pid } from "../core/ids.ts";
import type { Absent, Reading } from "../core/reading.ts";
import type { Bytes } from "../core/units.ts";
import type { DriverReport } from "../model/gpu.ts";
import type { AllowedDevice, IsolatedProcess } from "../model/isolation.ts";
import type { IsolationTally } from "./isolation_tally.ts";
import type { Finding } from "./lint/finding.ts";

/** Whose a listed pid is. `unknown` is a process of which nobody could tell, and is never taken for somebody else's. */
export type Whose = "job" | "other" | "unknown";

/** Everything that was seen of a job. */
export interface IsolationInput {
  readonly allowed: readonly AllowedDevice[];
  /** A context of more than this on another GPU is a violation. */
  readonly threshold: Bytes;
  /** The machine's GPUs, all of which are watched. */
  readonly machine: Pick<DriverReport, "gpus" | "unreadableGpus">;
  /** The look before the job started; absent for a job that already ran. */
  readonly baseline: Reading<DriverReport>;
  readonly tally: IsolationTally;
  /** The job's processes, as far as they were seen alive. */
  readonly processes: readonly IsolatedProcess[];
  whose(pid: Pid): Whose;
  /** Why some process may have been the job's without being known for it; `undefined` if none can. */
  readonly untold: Absent | undefined;
  /** What reading the program's source has found. */
  readonly lint: readonly Finding[];
}
