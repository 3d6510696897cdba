/** Small interfaces for all that is outside. `real.ts` builds the real ones; tests hand in their own. */
import type { Ending } from "../core/errors.ts";
import type { Reading } from "../core/reading.ts";
import type { Milliseconds } from "../core/units.ts";
import type { Pid, Uid } from "../core/ids.ts";
import type { ClockOrder } from "../model/clock_order.ts";
import type { ChildEnd } from "../model/diff.ts";
import type { ActRecord, ContainerTools, DriverFiles, MpsPipe, Standing } from "../model/doctor_facts.ts";
import type { DriverReport } from "../model/gpu.ts";
import type { DeviceUse, Observation } from "../model/observation.ts";
import type { ResetFacts, XidEvent } from "../model/reset_facts.ts";
import type { PythonInterpreter } from "../model/python_packages.ts";
import type { AuditJson } from "../model/schema/audit.ts";
import type { Snapshot } from "../model/snapshot.ts";
import type { Environment, Owner, Process, ProcessIdentity, ProcStat } from "../model/process.ts";
import type { JobPlan, ServerPlan } from "../model/simulation.ts";
import type { FoundUnit, UnitFile } from "../model/unit_file.ts";
import type { LiveSource, SourceChoice } from "../model/source_choice.ts";
import type { ToolRun } from "../model/tool_run.ts";

export type { ToolRun };

export interface Clock {
  /** Wall-clock time in ISO 8601, UTC. */
  now(): string;
  /** A moment that never runs backwards. */
  monotonic(): Milliseconds;
  /** Waits at least this long. */
  pause(span: Milliseconds): Promise<void>;
}

/** What a terminal can show. It may not know its rows. */
export interface Screen {
  readonly columns: number;
  readonly rows?: number;
  readonly hasColour: boolean;
}

export interface Terminal {
  /** Writes the answer to standard output. A closed pipe ends the program quietly; a full disk is an error. */
  out(text: string): void;
  /** Writes a message to standard error. */
  err(text: string): void;
  /** Size and colour of standard output now; `undefined` when it is no terminal. */
  readonly screen: Screen | undefined;
  /** The same of standard error. */
  readonly errorScreen: Screen | undefined;
  /** Whether standard error leads to the systemd journal (JOURNAL_STREAM of systemd.exec(5)). */
  readonly isJournal: boolean;
}

/** What is read of each GPU beside what every look reads. */
export interface LookExtras {
  /** Utilization costs about 4 ms a GPU. */
  readonly withUtilization: boolean;
  /** What bears on a reset: another few milliseconds a GPU. */
  readonly withHealth?: true;
  /** Who used each GPU so far, also those that are gone: a call for each, where the driver keeps account. */
  readonly withAccounting?: true;
}

/** What a look at the machine may cost. */
export interface LookOptions extends LookExtras {
  /** How long the driver may take to answer. */
  readonly within: Milliseconds;
}

/** A look at the driver alone, again and again, for sampling. The helper stays up between looks. */
export interface Sampler extends AsyncDisposable {
  /** Never rejects for a driver that fails or hangs: the reading says so. */
  sample(options: LookOptions): Promise<Reading<DriverReport>>;
}

/** A sampler that looks at everybody too, through the same helper. */
export interface Observer extends Sampler {
  /** Never rejects for a driver that fails or hangs. */
  observe(options: LookOptions): Promise<Observation>;
}

/** The kernel's log, followed. */
export interface KernelLogFollower extends Disposable {
  /** The driver's errors that were logged since the last call; of the first call, since this was opened. Never throws. */
  readNew(): Reading<readonly XidEvent[]>;
}

/** How a command that we ran on the side ended. */
export type ShellEnd =
  | { readonly kind: "exited"; readonly status: number }
  | { readonly kind: "killed"; readonly signal: string }
  | { readonly kind: "timed-out" }
  | { readonly kind: "not-started"; readonly message: string };

/** A command that we ran on the side. */
export interface ShellRun {
  readonly end: ShellEnd;
  /** The end of what it wrote. */
  readonly output: string;
}

/** What a command on the side gets. */
export interface ShellOptions {
  readonly variables: Readonly<Record<string, string>>;
  /** How long it may take. Then it is ended with everything that it has started in its process group. */
  readonly span: Milliseconds;
}

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

/** Signals that reach gpuctl while a job runs and are meant for the job. */
export type PassedSignal = "SIGTERM" | "SIGHUP" | "SIGINT" | "SIGQUIT" | "SIGUSR1" | "SIGUSR2";

/** A signal that came to us. */
export interface CaughtSignal {
  readonly signal: PassedSignal;
  /** A terminal sends its signals to the whole process group: the command has this one already. */
  readonly isFromTerminal: boolean;
}

/** Why a command did not start, as env(1) tells it. */
export type StartFailure = {
  readonly kind: "not-found" | "not-runnable";
  readonly message: string;
};

/** A command that we started. */
export interface Job {
  readonly identity: ProcessIdentity;
  /** Never rejects. Until it settles the pid stays this command's. */
  readonly ended: Promise<ChildEnd>;
  /** Passes a signal on; does nothing once the command has ended. */
  send(signal: PassedSignal): void;
}

/**
 * What becomes of processes whose parent has died below us: `adopted` unless told, or `left` to whoever has them without
 * us. What is adopted looks supervised to everybody else.
 */
export type OrphanFate = "adopted" | "left";

/** Starts a command and knows everything that descends from it. One at a time. */
export interface JobRunner extends Disposable {
  readonly ownPid: Pid;
  /**
   * Starts a command in our place: same terminal, process group, descriptors, limits and signal dispositions. From now on
   * orphans below us become our children unless they are `left`, and those that end are reaped.
   *
   * @throws {Error} if the system refuses for another reason than the command itself
   */
  start(command: readonly string[], changes: Readonly<Record<string, string>>): Job | StartFailure;
  /** The processes that descend from us, our helpers left out: the job's, escaped ones included, as far as they show. */
  listDescendants(): readonly ProcStat[];
  /** Whether any of them may still run. It says no only where that is sure. */
  hasDescendants(): boolean;
}

/**
 * Until disposed of, no signal in `PassedSignal` ends us: `onSignal` is told instead. With `onOther` none of those does
 * either that a timer or a limit sends; what comes of a fault or of SIGKILL cannot be helped.
 */
export type CatchSignals = (
  onSignal: (caught: CaughtSignal) => void,
  onOther?: () => void,
) => Disposable;

export interface Files {
  /** Reads a whole file of at most 64 MiB. @throws the system's error, with its code; another if it is larger */
  readText(path: string): string;
  /** Writes the whole file or leaves it as it was, no link followed; mode 0600, or 0644 whatever the umask says. */
  writeWhole(path: string, text: string, options?: { readonly isWorldReadable: boolean }): void;
}

/** Files that are written after work that must not be done in vain. */
export interface OutputFiles {
  /** @throws {GpuctlError} now, if `Files.writeWhole` could not write there later */
  checkPlace(path: string): void;
  /** Opens a new file, mode 0600, in place of the one that is there. @throws {GpuctlError} if it cannot */
  openLines(path: string): LineFile;
}

/** A file that grows by whole lines. */
export interface LineFile extends Disposable {
  /** @throws {GpuctlError} if the line cannot be written */
  append(line: string): void;
}

/** Simulated GPU servers, and the jobs on them. */
export interface Simulation {
  /**
   * Makes a server in a directory, or gives the one that is there other faults. Gives the number of its GPUs.
   *
   * @throws {GpuctlError} if the plan cannot be read, or is for other GPUs than there are
   */
  init(directory: string, plan: ServerPlan): Promise<number>;
  /**
   * Runs a job: says `ready PID` on standard output once its scene stands, and returns when its time is over.
   *
   * @throws {GpuctlError} if there is no such server or GPU, or too little memory is free
   */
  hold(plan: JobPlan): Promise<Ending>;
  /** Does what the job that started this process has ordered on standard input. */
  work(): Promise<void>;
}

/** systemd, and the place where an administrator's own units lie. */
export interface Systemd {
  /** The path of a unit of this name. */
  unitPath(name: string): string;
  /** What stands there; `undefined` where nothing does. @throws {GpuctlError} if it cannot be read */
  findUnit(name: string): FoundUnit | undefined;
  /** Puts the whole unit in place of what stands there, for everybody to read. @throws {GpuctlError} if it cannot */
  writeUnit(unit: UnitFile): void;
  /** @throws {GpuctlError} if it cannot be removed */
  removeUnit(name: string): void;
  /** @throws {GpuctlError} if somebody else than root could put another program in this one's place */
  checkProgram(path: string): void;
  /**
   * Gives systemctl an order and returns what it printed.
   *
   * @throws {GpuctlError} `partial` with its words if it refuses or does not answer in time
   */
  order(words: readonly string[]): Promise<string>;
}

/** What a reset is planned and done with. */
export interface ResetTools {
  /** Reads the kernel and the services. Never rejects: what could not be read is absent. */
  readFacts(): Promise<ResetFacts>;
  /** How nvidia-smi is called, for the plan; absent if it is not installed. */
  readonly smiPath: Reading<string>;
  /** Runs nvidia-smi with these words. It gets no signal that is meant for us, and is not ended before the span is over. */
  runSmi(words: readonly string[], span: Milliseconds): Promise<ToolRun>;
  /** Sets clocks back by NVML; `not-supported` where that has no such call, for this GPU or at all. */
  resetClocks(order: ClockOrder, span: Milliseconds): Promise<Reading<true>>;
  /** Stops or starts a systemd unit and waits until that is done. */
  orderUnit(order: "stop" | "start", unit: string, span: Milliseconds): Promise<ToolRun>;
  /** Whether a unit runs; absent where systemd does not say. */
  readIsActive(unit: string, span: Milliseconds): Promise<Reading<boolean>>;
  /** Settles once no helper of this program has the driver open any more; says which pid is left if one stays. */
  closeHelpers(span: Milliseconds): Promise<readonly Pid[]>;
}

/** What a diagnosis reads beside a look at the driver. None of it rejects: what could not be read is absent. */
export interface Examination {
  readDriver(): Promise<DriverFiles>;
  readStanding(): Promise<Reading<Standing>>;
  readMachine(): Promise<Omit<ResetFacts, "services">>;
  readServices(): Promise<ResetFacts["services"]>;
  readContainers(): Promise<ContainerTools>;
  readMps(): Promise<MpsPipe>;
  readActs(): Promise<Reading<ActRecord>>;
  /** The interpreter that was named, or those that a shell here would start. None of them is run. */
  readPython(named: string | undefined): Promise<readonly PythonInterpreter[]>;
}

/** Everything a command may ask of the world. Each takes the parts it needs. */
export interface World {
  readonly clock: Clock;
  readonly terminal: Terminal;
  readonly files: Files;
  readonly processes: ProcessTable;
  /** How this program starts itself again. */
  readonly self: readonly string[];
  /**
   * Who holds the GPUs and why, from any source.
   *
   * @throws {GpuctlError} if a file cannot be read or is not what it should be
   */
  look(source: SourceChoice, options: LookOptions): Promise<Snapshot>;
  /** One look at a live machine, before anything is concluded from it. */
  observe(source: LiveSource, options: LookOptions): Promise<Observation>;
  openSampler(source: LiveSource): Promise<Sampler>;
  openObserver(source: LiveSource): Promise<Observer>;
  openKernelLog(source: LiveSource): Promise<KernelLogFollower>;
  /** Gives a line to a shell, apart from the terminal and from signals that are meant for us. Never rejects. */
  runShell(line: string, options: ShellOptions): Promise<ShellRun>;
  openUses(source: LiveSource): Promise<UseReader>;
  openPopulation(): Promise<Population>;
  readonly locks: Locks;
  readonly notes: Notes;
  /** The record at this path, or at the place that acts on this source are recorded in. */
  openAuditLog(path: string | undefined, source: LiveSource): AuditLog;
  /** What the machine that a source is can be reset with. `smi` is the nvidia-smi to run, unless the installed one. */
  openResetTools(source: LiveSource, options: { readonly smi: string | undefined }): Promise<ResetTools>;
  /** What a diagnosis reads. @throws {GpuctlError} if there is no such simulated server */
  openExamination(source: LiveSource): Promise<Examination>;
  readonly details: ProcessDetails;
  readonly origins: ProcessOrigins;
  readonly outputs: OutputFiles;
  readonly catchSignals: CatchSignals;
  /** Opens what starts commands; dispose of it once everything that they left has been looked at. */
  openJobRunner(orphans?: OrphanFate): Promise<JobRunner>;
  readonly simulation: Simulation;
  /** @throws {GpuctlError} if this user may not change units, or systemd does not run this machine */
  openSystemd(): Promise<Systemd>;
  /** A new folder that is removed again with everything in it. */
  temporaryFolder(): Disposable & { readonly path: string };
  /** A variable of this program's own environment. */
  variable(name: string): string | undefined;
  /** The names of all of them. */
  variableNames(): readonly string[];
}

/** Keeps two runs apart. The system gives a lock back when its holder ends, however it ends. */
export interface Locks {
  /**
   * Takes the lock of an act on a source; `undefined` while another process has it.
   *
   * @throws {GpuctlError} if there is no safe place for it
   */
  acquire(name: string, source: LiveSource): Disposable | undefined;
}

/** Small texts that one run leaves for the next, about one source. Lost with a reboot. */
export interface Notes {
  read(name: string, source: LiveSource): string | undefined;
  /** @throws {GpuctlError} if there is no safe place for it */
  write(name: string, source: LiveSource, text: string): void;
}

/** A record of everything that was ended or reset. */
export interface AuditLog {
  readonly path: string;
  /** What is on record so far; absent where there is no record, or one that somebody else could have written. Never waits. */
  read(): Reading<string>;
  /**
   * Appends one record as one line, and returns only when it is on the disk.
   *
   * @throws {GpuctlError} if it cannot: then nothing may be done that it should tell of
   */
  append(record: AuditJson): void;
}
