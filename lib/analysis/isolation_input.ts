import type { Pid } from "../core/ids.ts";
import type { Absent, Reading } from "../core/reading.ts";
import type { Bytes, Milliseconds } from "../core/units.ts";
import type { DriverReport } from "../model/gpu.ts";
import type { AllowedDevice, IsolatedProcess } from "../model/isolation.ts";
import type { Process } from "../model/process.ts";
import type { Framework } from "./frameworks.ts";
import type { IsolationTally } from "./isolation_tally.ts";
import type { Finding } from "./lint/finding.ts";

/** Whose a listed pid is. `unknown` is a process of which nobody could tell, and is never taken for somebody else's. */
export type Whose = "job" | "other" | "unknown";

/** Everything that was seen of a job. */
export interface IsolationInput {
  readonly allowed: readonly AllowedDevice[];
  /** A context of more than this on another GPU is a violation. */
  readonly threshold: Bytes;
  /** The machine's GPUs, all of which are watched. Those that came up later are judged with them. */
  readonly machine: Pick<DriverReport, "gpus" | "unreadableGpus">;
  /** The look that growth counts from: before the job started, or the first of several at one that ran already. */
  readonly baseline: Reading<DriverReport>;
  /** Whether the job ran before the first look: what was listed then may be its own. It did not unless told. */
  readonly hasRunBefore?: boolean;
  readonly tally: IsolationTally;
  /** The job's processes, as far as they were seen alive. */
  readonly processes: readonly IsolatedProcess[];
  whose(pid: Pid): Whose;
  /** Why some process may have been the job's without being known for it; `undefined` if none can. */
  readonly untold: Absent | undefined;
  /** How far apart two looks may be before something was in their way; however far unless told. */
  readonly patience?: Milliseconds | undefined;
  /** What reading the program's source has found. */
  readonly lint: readonly Finding[];
  /** Whether the job was to have its GPUs for itself: contexts of others there are violations, and notes otherwise. */
  readonly isExclusive?: boolean;
  /** Whether a rank may have a context on another rank's GPU, as long as that is the job's too. It may not unless told. */
  readonly allowsRanks?: boolean;
  /** What is known of a process that is not the job's; nothing of anybody unless given. */
  readonly findOther?: (pid: Pid) => Process | undefined;
  /** Which frameworks the job's processes with a context out of place run, as far as that was seen. */
  readonly frameworks?: ReadonlyMap<Pid, Framework>;
  /** What else the reader has to know; the first of the notes. */
  readonly remarks?: readonly string[];
}

/** The machine with the GPUs that were not there at first: what has a context on one of them is judged like any other. */
export function machineOf(
  { machine, tally }: Pick<IsolationInput, "machine" | "tally">,
): IsolationInput["machine"] {
  const late = tally.gpus.filter(({ uuid }) => !machine.gpus.some((gpu) => gpu.uuid === uuid));
  return late.length === 0 ? machine : { ...machine, gpus: [...machine.gpus, ...late] };
}
