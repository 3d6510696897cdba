/** Commands that are run, and the signals that are meant for them. */
import type { Pid } from "../../core/ids.ts";
import type { Milliseconds } from "../../core/units.ts";
import type { ChildEnd } from "../../model/diff.ts";
import type { ProcessIdentity, ProcStat } from "../../model/process.ts";

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
