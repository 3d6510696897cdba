/** Processes: finding, reading and signalling them. */
import type { Pid, Uid } from "../../core/ids.ts";
import type { Reading } from "../../core/reading.ts";
import type { DeviceUse } from "../../model/observation.ts";
import type { Environment, Owner, Process, ProcessIdentity, ProcStat } from "../../model/process.ts";

export type Signal = "SIGTERM" | "SIGKILL" | "SIGCONT" | "SIGINT" | "SIGHUP" | "SIGQUIT";
export type SignalOutcome = "sent" | "gone" | "denied";

/** A process held by its pidfd: as long as this is open, no other process can be meant. */
export interface ProcessHandle extends Disposable {
  send(signal: Signal): SignalOutcome;
}

export interface ProcessTable {
  /** Reads /proc/PID/stat; `undefined` once no process has that pid. */
  findProcess(pid: number): ProcStat | undefined;
  /** Opens exactly this process; `undefined` if it is gone or another one has its pid. */
  openProcess(identity: ProcessIdentity): ProcessHandle | undefined;
}

/** What is read of one process, once, when it matters. */
export interface ProcessDetails {
  /** Its arguments as it shows them now. */
  readArguments(pid: Pid): Reading<readonly string[]>;
  /** Paths of the files that it has mapped, its libraries among them. */
  readMappedFiles(pid: Pid): Reading<readonly string[]>;
}

/** What a process was started with, and under whom. Read at first sight: it may be gone a moment later. */
export interface ProcessOrigins {
  /** The variables that it was started with, as far as they bear on GPUs. */
  readEnvironment(pid: Pid): Reading<Environment>;
  readOwner(pid: Pid): Reading<Owner>;
}

/** Reads what single processes have of the driver's nodes, again and again. */
export interface UseReader extends Disposable {
  /** What each of them has now, or why that is not known. */
  readUses(pids: readonly Pid[]): Promise<ReadonlyMap<Pid, Reading<readonly DeviceUse[]>>>;
}

/** Everybody on the machine, whether or not a GPU is in play. */
export interface Population extends Disposable {
  /** Everybody whom this reader can see now. */
  listPids(): readonly Pid[];
  /** All that bears on who a process belongs to; `undefined` once it is gone, or where it is hidden. */
  readProcess(pid: Pid): Promise<Process | undefined>;
  /** The machine's own list of users. Users of a directory service are not on it. */
  readUsers(): Reading<ReadonlyMap<Uid, string>>;
  /** Who of them is in which of the machine's own groups. */
  readGroups(): Reading<ReadonlyMap<string, ReadonlySet<Uid>>>;
}
