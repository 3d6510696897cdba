/** Small interfaces for all that is outside. `real.ts` builds the real ones; tests hand in their own. */
import type { Milliseconds } from "../core/units.ts";
import type { Observation } from "../model/observation.ts";
import type { Snapshot } from "../model/snapshot.ts";
import type { LiveSource, SourceChoice } from "../model/source_choice.ts";
import type { AuditLog, Files, Locks, Notes, OutputFiles } from "./ports/files.ts";
import type { CatchSignals, JobRunner, OrphanFate, ShellOptions, ShellRun } from "./ports/jobs.ts";
import type { KernelLogFollower, LookOptions, Observer, Sampler } from "./ports/looks.ts";
import type { Examination, ResetTools, Simulation, Systemd } from "./ports/machine.ts";
import type {
  Population,
  ProcessDetails,
  ProcessOrigins,
  ProcessTable,
  UseReader,
} from "./ports/processes.ts";

export type * from "./ports/files.ts";
export type * from "./ports/jobs.ts";
export type * from "./ports/looks.ts";
export type * from "./ports/machine.ts";
export type * from "./ports/processes.ts";
export type { ToolRun } from "../model/tool_run.ts";

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
