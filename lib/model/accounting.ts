/** What the driver keeps on record of the processes that used a GPU, if accounting mode is on (nvidia-smi -am 1). */
import type { Pid } from "../core/ids.ts";
import type { Reading } from "../core/reading.ts";
import type { Bytes } from "../core/units.ts";

/** One process that has, or had, a compute context on a GPU: also one that is long gone. */
export interface AccountedProcess {
  readonly pid: Pid;
  /** The driver's own stamp, microseconds: with the pid it tells two processes apart, and is compared for nothing else. */
  readonly startedAt: number;
  /** The most memory that it ever had. */
  readonly peak: Reading<Bytes>;
  readonly isRunning: boolean;
}
