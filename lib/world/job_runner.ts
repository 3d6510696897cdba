/** Starts commands for real, adopts what escapes from them, and reaps what ends. */
import { readdirSync } from "node:fs";
import process from "node:process";
import { GpuctlError } from "../core/errors.ts";
import { type Pid, pid } from "../core/ids.ts";
import type { ChildEnd } from "../model/diff.ts";
import { isStillRunning, type ProcStat } from "../model/process.ts";
import { ERRNO, openLibc } from "../native/libc.ts";
import { bindOwnProcess, type OwnProcessCalls } from "../native/own_process.ts";
import { bindSpawn, type SpawnCalls } from "../native/spawn.ts";
import { findOwnChildren } from "../proc/children.ts";
import { isOwnChild } from "../proc/own_children.ts";
import { jobEnvironment, ownWords, resolveScript } from "./job_command.ts";
import { visibleProcesses } from "../action/visible_processes.ts";
import type { Job, JobRunner, OrphanFate, PassedSignal, ProcessTable, StartFailure } from "./ports.ts";

export interface RunnerWorld {
  readonly processes: Pick<ProcessTable, "findProcess">;
  /** Descriptors that we were given, and pass on. */
  readonly given: readonly number[];
  readonly orphans: OrphanFate;
}

/** asm-generic/errno-base.h */
const [ENOEXEC, ENOTDIR] = [8, 20];
/** What env(1) calls not found, and what it calls not runnable. */
const NOT_FOUND: readonly number[] = [ERRNO.ENOENT, ENOTDIR];
const NOT_RUNNABLE: Readonly<Record<number, string>> = {
  1: "operation not permitted",
  7: "argument list too long",
  8: "exec format error",
  13: "permission denied",
  26: "text file busy",
  36: "file name too long",
  40: "too many levels of symbolic links",
};
/** SIGCHLD tells of each end; this is for one that was lost. */
const REAP_INTERVAL_MS = 1000;

/** Opens the real runner. */
export async function openJobRunner(world: RunnerWorld): Promise<JobRunner> {
  const libc = await openLibc();
  return new RealJobRunner({ own: bindOwnProcess(libc), spawning: bindSpawn(libc) }, world);
}

interface Calls {
  readonly own: OwnProcessCalls;
  readonly spawning: SpawnCalls;
}

class RealJobRunner implements JobRunner {
  readonly ownPid: Pid = pid(process.pid);
  readonly #calls: Calls;
  readonly #world: RunnerWorld;
  readonly #processes: Pick<ProcessTable, "findProcess">;
  #running: { readonly pid: Pid; readonly settle: (end: ChildEnd) => void } | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;
  readonly #onChild = () => this.#reap();

  constructor(calls: Calls, world: RunnerWorld) {
    this.#calls = calls;
    this.#world = world;
    this.#processes = visibleProcesses(world.processes);
  }

  start(command: readonly string[], changes: Readonly<Record<string, string>>): Job | StartFailure {
    const { own, spawning } = this.#calls;
    if (this.#world.orphans === "adopted") own.adoptOrphans();
    this.#watchChildren();
    for (const descriptor of this.#world.given) spawning.passOn(descriptor);
    const started = this.#spawn(command, changes);
    if ("errno" in started) return describeFailure(command, started.errno);
    const child = pid(started.pid);
    const { promise: ended, resolve: settle } = Promise.withResolvers<ChildEnd>();
    this.#running = { pid: child, settle };
    // Not reaped yet, so it is there, dead or alive.
    const stat = this.#processes.findProcess(child);
    if (!stat) throw new Error(`Cannot find PID ${child}: it was started just now and nobody has reaped it`);
    return {
      identity: { pid: child, startTicks: stat.startTicks },
      ended,
      send: (signal) => this.#send(child, signal),
    };
  }

  listDescendants(): readonly ProcStat[] {
    const found = this.#walk();
    const missed = this.#livingChildren().filter((child) => !found.some(({ pid }) => pid === child.pid));
    return [...found, ...missed];
  }

  /**
   * A process that loses its parent while /proc is read can be missed: it was still the parent's, and the parent is gone.
   * So that nothing is left is believed only of children who were all dead, with no new one among them afterwards: what
   * descends from us has a living child of ours above it, or is one.
   */
  hasDescendants(): boolean {
    const before = this.#findChildren();
    if (this.#walk().some(isStillRunning)) return true;
    if (before === undefined) return this.#walk().some(isStillRunning);
    if (before.some((child) => this.#mayRun(child))) return true;
    return this.#findChildren()?.every((child) => before.includes(child)) !== true;
  }

  #livingChildren(): readonly ProcStat[] {
    const children = this.#findChildren() ?? [];
    return children.flatMap((child) => this.#processes.findProcess(child) ?? []).filter(isStillRunning);
  }

  /** Whether a child of ours runs. One of another user may be hidden from us, and is there until it is reaped. */
  #mayRun(child: number): boolean {
    const found = this.#processes.findProcess(child);
    return found === undefined ? this.#findChildren()?.includes(child) !== false : isStillRunning(found);
  }

  #findChildren(): readonly number[] | undefined {
    return findOwnChildren()?.filter((child) => !isOwnChild(child));
  }

  #walk(): ProcStat[] {
    const children = new Map<number, ProcStat[]>();
    for (const name of readdirSync("/proc")) {
      const found = /^\d+$/.test(name) ? this.#processes.findProcess(Number(name)) : undefined;
      if (found) children.set(found.parentPid, [...children.get(found.parentPid) ?? [], found]);
    }
    const descendants = (children.get(this.ownPid) ?? []).filter(({ pid }) => !isOwnChild(pid));
    for (const process of descendants) descendants.push(...children.get(process.pid) ?? []);
    return descendants;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    process.off("SIGCHLD", this.#onChild);
  }

  #watchChildren(): void {
    if (this.#timer !== undefined) return;
    process.on("SIGCHLD", this.#onChild);
    this.#timer = setInterval(this.#onChild, REAP_INTERVAL_MS);
  }

  #spawn(command: readonly string[], changes: Readonly<Record<string, string>>) {
    const { spawning } = this.#calls;
    const words = ownWords(command);
    const [program = new Uint8Array()] = words;
    const environment = jobEnvironment(changes);
    const started = spawning.spawn(program, words, environment);
    if (!("errno" in started) || started.errno !== ENOEXEC) return started;
    // A script without #! is for the shell, as execvp(3) has it.
    const shell = new TextEncoder().encode("/bin/sh");
    return spawning.spawn(shell, [shell, resolveScript(program), ...words.slice(1)], environment);
  }

  #send(child: Pid, signal: PassedSignal): void {
    if (this.#running?.pid === child) process.kill(child, signal);
  }

  /** Collects the command itself, then whatever else has ended and is nobody else's to collect. */
  #reap(): void {
    const end = this.#running && this.#calls.own.reap(this.#running.pid);
    if (this.#running && end) {
      const { settle } = this.#running;
      this.#running = undefined;
      settle(
        "status" in end ? { kind: "exited", status: end.status } : { kind: "killed", signal: end.signal },
      );
    }
    for (let dead = this.#findOrphan(); dead !== undefined; dead = this.#findOrphan()) {
      this.#calls.own.reap(dead);
    }
  }

  /** A dead child that was adopted. One of our own hides those behind it until the runtime has collected it: a moment. */
  #findOrphan(): number | undefined {
    const dead = this.#calls.spawning.findEndedChild();
    return dead === undefined || dead === this.#running?.pid || isOwnChild(dead) ? undefined : dead;
  }
}

function describeFailure([program = ""]: readonly string[], errno: number): StartFailure {
  if (NOT_FOUND.includes(errno)) {
    return { kind: "not-found", message: `Cannot run "${program}": there is no such file or command` };
  }
  const reason = NOT_RUNNABLE[errno];
  if (reason !== undefined) return { kind: "not-runnable", message: `Cannot run "${program}": ${reason}` };
  throw new GpuctlError("unavailable", `Cannot run "${program}": the kernel refused it with error ${errno}`);
}
