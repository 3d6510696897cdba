/**
 * Starts a program with a pipe to it and one from it. The one file that knows how each runtime does that: Bun's own way
 * takes 0.4 ms, node:child_process under Bun 2.9 (measured in the compiled program).
 */
import { noteOwnChild } from "../../proc/own_children.ts";
import process from "node:process";

/**
 * A helper does little, ten times a second: compiling it at run time took as much of the processor as all it did (0.8 ms a
 * report with, 0.4 without). Lists of thousands of processes then take 70 ms instead of 30.
 */
const INTERPRETED = { BUN_JSC_useBaselineJIT: "0" };

/** How a process ended. */
export type ChildEnding =
  | { readonly kind: "status"; readonly status: number }
  | { readonly kind: "signal"; readonly signal: string };

/** A running program that we started, with its pipes. */
export interface PipedChild {
  readonly pid: number;
  /** Settles once the process is gone and its status was collected. Never rejects. */
  readonly ended: Promise<ChildEnding>;
  /** Sends a text. One that cannot arrive any more is dropped: the child's end says so. */
  write(text: string): void;
  /** The next part of what it wrote, `undefined` at the end. Never rejects. */
  read(): Promise<Uint8Array | undefined>;
  /** Sends SIGKILL, if it still runs. */
  kill(): void;
  /** Closes both pipes and stops waiting, so that this program may end before the child does. */
  release(): void;
}

declare global {
  /** The part of Bun that is used here; `undefined` under any other runtime. */
  var Bun: { spawn(command: string[], options: BunOptions): BunChild } | undefined;
}

interface BunOptions {
  readonly stdin: "pipe";
  readonly stdout: "pipe";
  readonly stderr: "ignore";
  readonly detached: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
}

interface BunChild {
  readonly pid: number;
  readonly exited: Promise<number>;
  readonly signalCode: string | null;
  readonly stdin: { write(text: string): number; flush(): unknown; end(): unknown };
  readonly stdout: ReadableStream<Uint8Array>;
  kill(signal: "SIGKILL"): void;
  unref(): void;
}

/**
 * Starts a program in a session of its own: the terminal's signals are for this program and its jobs, not for the child.
 *
 * @throws {Error} if the program cannot be started
 */
export function startPipedChild([program = "", ...rest]: readonly string[]): PipedChild {
  const child = globalThis.Bun === undefined
    ? startWithNode(program, rest)
    : startWithBun(globalThis.Bun, [program, ...rest]);
  noteOwnChild(child.pid, child.ended);
  return child;
}

function startWithBun(bun: NonNullable<typeof globalThis.Bun>, command: string[]): PipedChild {
  const child = bun.spawn(command, {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "ignore",
    detached: true,
    env: { ...process.env, ...INTERPRETED },
  });
  const reader = child.stdout.getReader();
  return {
    pid: child.pid,
    ended: child.exited.then((status) =>
      child.signalCode === null ? { kind: "status", status } : { kind: "signal", signal: child.signalCode }
    ),
    write(text) {
      attemptWrite(() => {
        child.stdin.write(text);
        child.stdin.flush();
      });
    },
    read: () => reader.read().then(({ value }) => value, () => undefined),
    kill: () => child.kill("SIGKILL"),
    release() {
      attemptWrite(() => child.stdin.end());
      reader.cancel().catch(() => undefined); // The pipe is given up; that it broke before changes nothing.
      child.unref();
    },
  };
}

function attemptWrite(write: () => void) {
  try {
    write();
  } catch {
    // A pipe whose reader is gone. The child's end tells why.
  }
}

function startWithNode(program: string, rest: readonly string[]): PipedChild {
  const { spawn } = process.getBuiltinModule("node:child_process");
  const child = spawn(program, rest, { stdio: ["pipe", "pipe", "ignore"], detached: true });
  let refusal: Error | undefined;
  child.on("error", (error) => refusal = error);
  child.stdin.on("error", () => undefined); // As above: the child's end tells why.
  if (child.pid === undefined) throw refusal ?? new Error(`Cannot start ${program}: it has no process`);
  const output = child.stdout[Symbol.asyncIterator]();
  return {
    pid: child.pid,
    ended: new Promise((settle) =>
      child.on(
        "exit",
        (status, signal) =>
          settle(signal === null ? { kind: "status", status: status ?? 0 } : { kind: "signal", signal }),
      )
    ),
    write: (text) => void child.stdin.write(text),
    read: () => output.next().then(({ value }) => value, () => undefined),
    kill: () => void child.kill("SIGKILL"),
    release() {
      child.stdin.destroy();
      child.stdout.destroy();
      child.unref();
    },
  };
}
