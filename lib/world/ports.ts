/** Small interfaces for all that is outside. `real.ts` builds the real ones; tests hand in their own. */
import type { Reading } from "../core/reading.ts";
import type { Milliseconds } from "../core/units.ts";
import type { DriverReport } from "../model/gpu.ts";
import type { Observation } from "../model/observation.ts";
import type { Snapshot } from "../model/snapshot.ts";
import type { ProcessIdentity, ProcStat } from "../model/process.ts";
import type { LiveSource, SourceChoice } from "../model/source_choice.ts";

export interface Clock {
  /** Wall-clock time in ISO 8601, UTC. */
  now(): string;
  /** A moment that never runs backwards. */
  monotonic(): Milliseconds;
  /** Waits at least this long. */
  pause(span: Milliseconds): Promise<void>;
}

export interface Terminal {
  /** Writes the answer to standard output. A closed pipe ends the program quietly; a full disk is an error. */
  out(text: string): void;
  /** Writes a message to standard error. */
  err(text: string): void;
  /** Columns and colour of standard output; `undefined` when it is no terminal. */
  readonly screen: { readonly columns: number; readonly hasColour: boolean } | undefined;
}

/** What a look at the machine may cost. */
export interface LookOptions {
  readonly deadline: Milliseconds;
  /** Utilization costs about 4 ms a GPU. */
  readonly withUtilization: boolean;
}

/** A look at the driver alone, again and again, for sampling. The helper stays up between looks. */
export interface Sampler extends AsyncDisposable {
  /** Never rejects for a driver that fails or hangs: the reading says so. */
  sample(options: LookOptions): Promise<Reading<DriverReport>>;
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

export interface Files {
  /** @throws the system's error, with its code */
  readText(path: string): string;
  /** Writes the whole file or leaves it as it was; mode 0600, no link followed. */
  writeWhole(path: string, text: string): void;
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
  openSampler(source: LiveSource): Sampler;
  /** A variable of this program's own environment. */
  variable(name: string): string | undefined;
}
