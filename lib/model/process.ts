import type { Pid, Uid } from "../core/ids.ts";
import type { Reading } from "../core/reading.ts";
import type { ClockTicks } from "../core/units.ts";

/** A process for good: its pid and its start time. A pid alone may be somebody else by now. */
export interface ProcessIdentity {
  readonly pid: Pid;
  readonly startTicks: ClockTicks;
}

/** The state letters of proc_pid_stat(5), field 3. */
export const PROCESS_STATES = ["R", "S", "D", "Z", "T", "t", "X", "I", "P"] as const;
export type ProcessState = typeof PROCESS_STATES[number];

/** What /proc/PID/stat says: cheap, and readable by everybody. */
export interface ProcStat extends ProcessIdentity {
  /** At most 15 bytes, chosen by the process itself: a hint, never evidence. */
  readonly comm: string;
  readonly state: ProcessState;
  readonly parentPid: number;
  readonly processGroup: number;
  readonly session: number;
  /** Controlling terminal's device number; 0 without one. */
  readonly terminal: number;
  readonly threads: number;
  /** utime + stime. */
  readonly cpuTicks: ClockTicks;
  readonly isKernelThread: boolean;
  /** PF_EXITING of linux/sched.h in field 9: on its way out, its descriptors being closed. */
  readonly isExiting: boolean;
}

/** Says whether anything of a process still runs. A dead main thread alone is not the end; a zombie without threads is. */
export function isStillRunning({ state, threads }: Pick<ProcStat, "state" | "threads">): boolean {
  return state !== "X" && !(state === "Z" && threads <= 1);
}

/** One process with all that bears on who it belongs to. What this reader may not see is absent, with the reason. */
export interface Process extends ProcStat {
  readonly uid: Reading<Uid>;
  readonly user: Reading<string>;
  readonly argv: Reading<readonly string[]>;
  /** Target of /proc/PID/exe; a deleted file keeps the kernel's ` (deleted)`. */
  readonly executable: Reading<string>;
  readonly owner: Reading<Owner>;
  /** As at exec. Later changes made inside the process never show here. */
  readonly environment: Reading<Environment>;
  /** Its pids from this reader's PID namespace inward (NSpid of proc_pid_status(5)). */
  readonly namespacePids: Reading<readonly number[]>;
  /** Its PID namespace as the kernel names it, `pid:[4026531836]`. */
  readonly pidNamespace: Reading<string>;
  /** Bit 0 of SigIgn: started by nohup, or set on purpose. */
  readonly ignoresHangup: Reading<boolean>;
  readonly stdio: Reading<Stdio>;
  /** State of each thread, the leader included. A dead leader with live threads still holds everything. */
  readonly threadStates: Reading<readonly ProcessState[]>;
  /** Kernel function that a thread in state D waits in, if any does (wchan). */
  readonly waitsIn: Reading<string>;
}

/** The variables that say what a process belongs to or which GPUs it may use. Others are not kept: they hold secrets. */
export type Environment = ReadonlyMap<string, string>;

/** Where a process's first three descriptors lead, `/dev/pts/3 (deleted)` or `pipe:[4711]`; `closed` where it has none. */
export interface Stdio {
  readonly input: string;
  readonly output: string;
  readonly error: string;
  /** Whether standard output is a pipe that nobody reads any more. */
  readonly isOutputBroken: Reading<boolean>;
}

/** Who a process belongs to, read off its cgroup; every part that the path names. */
export interface Owner {
  /** The cgroup path itself; of cgroup v1, the longest one. */
  readonly cgroup: string;
  /** The cgroup directory was removed while the process lives on: ` (deleted)` of cgroups(7). */
  readonly isCgroupDeleted: boolean;
  /** Innermost systemd unit, `nginx.service` or `session-3.scope`. */
  readonly unit?: string;
  /** Login session of systemd-logind, `3` of session-3.scope. */
  readonly loginSession?: string;
  readonly container?: ContainerId;
  /** Kubernetes pod UID. */
  readonly pod?: string;
  readonly slurmJob?: string;
  readonly slurmStep?: string;
}

/** A container as its cgroup names it; the innermost when they nest. */
export interface ContainerId {
  readonly id: string;
  readonly runtime: "docker" | "containerd" | "cri-o" | "podman" | "lxc" | "nspawn" | "unknown";
  /** A helper beside the container (conmon), not its payload. */
  readonly isMonitor: boolean;
}
