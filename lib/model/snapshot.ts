import type { GpuUuid, Pid, Uid } from "../core/ids.ts";
import type { Absent, Reading } from "../core/reading.ts";
import type { Bytes, ClockTicks } from "../core/units.ts";
import type { Driver, Gpu, UnreadableGpu } from "./gpu.ts";
import type { Owner, ProcessState } from "./process.ts";

/** Where a snapshot comes from. */
export const SOURCE_NAMES = ["nvml", "nvidia-smi", "file", "sim", "proc"] as const;
export type SourceName = typeof SOURCE_NAMES[number];

/** The machine a snapshot was taken on. Start ticks of two snapshots compare only where the boot id is the same. */
export interface Host {
  readonly name: Reading<string>;
  readonly bootId: Reading<string>;
  readonly kernel: Reading<string>;
}

/**
 * What a holder is, in the order in which the classes are tried:
 *
 * - `exiting`: on its way out; the driver is giving its memory back
 * - `stuck`: a thread waits in the driver in state D; no signal reaches it
 * - `display`, `mps-server`, `service`: part of the machine
 * - `monitor`: has the device open, nothing mapped
 * - `job-leftover`: of a Slurm job, container or cgroup that has ended
 * - `foreign`: lives in another PID namespace than its reader and is not ours to judge
 * - `zombie-leader`: the main thread is dead, other threads live and hold everything
 * - `inherited`: holds memory that a dead process allocated
 * - `orphan`: a worker whose owner is gone
 * - `stopped`: suspended (state T); it cannot act on SIGTERM until continued
 * - `detached`: runs without its starter on purpose (nohup, setsid, tmux)
 * - `live`: a job at work under an owner that lives
 * - `unknown`: the evidence does not suffice
 */
export const HOLDER_CLASSES = [
  "exiting",
  "stuck",
  "display",
  "mps-server",
  "service",
  "monitor",
  "job-leftover",
  "foreign",
  "zombie-leader",
  "inherited",
  "orphan",
  "stopped",
  "detached",
  "live",
  "unknown",
] as const;
export type HolderClass = typeof HOLDER_CLASSES[number];

/** What a holder has on one GPU. */
export interface HolderDevice {
  readonly gpu: GpuUuid;
  /** Bytes of its own contexts there as the driver lists them; 0 only where a complete list has none. */
  readonly contextBytes: Reading<Bytes>;
  readonly isOpen: Reading<boolean>;
  readonly isMapped: Reading<boolean>;
}

/** What starts the processes of one job side by side, as far as they show it. */
export const JOB_LAUNCHERS = [
  "torchrun",
  "deepspeed",
  "horovod",
  "mpi",
  "slurm",
  "torch-distributed",
  "vllm",
  "sglang",
] as const;
export type JobLauncher = typeof JOB_LAUNCHERS[number];

/** The job that a process is a rank of, or that a rank has started it for. */
export interface HolderJob {
  readonly launcher: JobLauncher;
  /** The lowest pid among its holders. No two jobs of one snapshot have the same. */
  readonly firstPid: Pid;
  /** What the job is called by its launcher, or where its ranks meet; jobs may be called alike. */
  readonly name?: string;
  /** Of the process, or of the rank that has started it, over all machines of the job. */
  readonly rank?: number;
}

/** A live process that has a GPU's device mapped or open, or that the driver lists. */
export interface Holder {
  readonly pid: Pid;
  /** Absent where the source gives a pid only. Nothing is ever signalled without it. */
  readonly startTicks: Reading<ClockTicks>;
  readonly uid: Reading<Uid>;
  readonly user: Reading<string>;
  readonly argv: Reading<readonly string[]>;
  /** Short name, for when argv is absent. */
  readonly name: string;
  readonly state: Reading<ProcessState>;
  readonly threads: Reading<number>;
  readonly parentPid: Reading<number>;
  readonly owner: Reading<Owner>;
  /** Given only where the process shows it: without it, it may be of a job all the same. */
  readonly job?: HolderJob;
  readonly class: HolderClass;
  /** One sentence each: what was seen that makes it so. */
  readonly evidence: readonly string[];
  /** The one next thing to do. */
  readonly advice: string;
  readonly devices: readonly HolderDevice[];
}

/** A live process that may be what keeps a ghost's memory, with what speaks for it, strongest first. */
export interface LikelyHolder {
  readonly pid: Pid;
  readonly reasons: readonly string[];
}

/** A context whose pid is not alive. It cannot be signalled; its likely holders may be. */
export interface Ghost {
  readonly pid: Pid;
  readonly gpu: GpuUuid;
  readonly contextBytes: Reading<Bytes>;
  readonly likelyHolders: readonly LikelyHolder[];
}

/** What one GPU's memory comes to. */
export interface GpuAccount {
  readonly gpu: Gpu;
  /** used − Σ contexts; absent where either side is. */
  readonly unattributed: Reading<Bytes>;
  /** The likely cause of the unattributed bytes, in words; absent when there is nothing to explain. */
  readonly cause?: string;
}

/** Something that could not be seen, for a person. `subject` says of what: `GPU 3`, `process list of GPU 0`. */
export interface Problem {
  readonly subject: string;
  readonly reason: Absent;
  readonly message: string;
}

/** Who holds the GPUs of one machine at one moment, and why. */
export interface Snapshot {
  /** The option that names this machine; absent where none has to. Sentences that name a command repeat it. */
  readonly sourceOption?: string;
  /** Wall-clock time in ISO 8601, UTC. Absent where a saved text has none, or one of a zone that it does not name. */
  readonly takenAt: Reading<string>;
  readonly source: SourceName;
  readonly simulated: boolean;
  readonly host: Host;
  readonly driver: Reading<Driver>;
  readonly gpus: readonly GpuAccount[];
  /** Each is among the problems too. */
  readonly unreadableGpus: readonly UnreadableGpu[];
  readonly holders: readonly Holder[];
  readonly ghosts: readonly Ghost[];
  readonly problems: readonly Problem[];
}

/** Whether the driver itself answered. What stands in for its answer is put together from /proc and sysfs. */
export function isDriverAnswering({ driver, source }: Pick<Snapshot, "driver" | "source">): boolean {
  return driver.ok && source !== "proc";
}

/** Whether nothing kept the look from seeing everybody. Only then does "nobody" mean nobody. */
export function isAllSeen({ driver, gpus, problems }: Snapshot): boolean {
  return driver.ok && gpus.length > 0 && problems.length === 0 &&
    gpus.every(({ gpu }) => gpu.processList.state === "known" && gpu.memoryUsed.ok);
}
