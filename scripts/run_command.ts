import { spawn } from "node:child_process";
import process from "node:process";
import { ROOT } from "./toolchain.ts";

/** A command to run from the root. */
export interface Invocation {
  readonly command: readonly [program: string, ...args: string[]];
  /** Added to our own environment, which may hold what the network here needs (certificates, a proxy). */
  readonly env?: Readonly<Record<string, string>>;
}

/** How a command ended. */
export interface Finished {
  readonly succeeded: boolean;
  /** Standard output and error in the order in which they came. */
  readonly output: string;
  /** `exit status 1`, `SIGSEGV`, `no end within 300 s`. */
  readonly ending: string;
}

const TIME_LIMIT_MS = 300_000;
/** How long a leaked grandchild may hold our pipes open after the command itself has ended. */
const PIPE_GRACE_MS = 2000;

const runningGroups = new Set<number>();

/**
 * Runs a command to its end. After five minutes it is ended with all that it started: a test that hangs must not hang
 * the gate. Never rejects: a program that cannot be started is one that failed.
 */
export function runToEnd({ command, env: added = {} }: Invocation): Promise<Finished> {
  const { promise, resolve } = Promise.withResolvers<Finished>();
  const [program, ...args] = command;
  // A group of its own, so that one signal reaches its children too.
  const child = spawn(program, args, {
    cwd: ROOT,
    env: { ...process.env, ...added },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const chunks: string[] = [];
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => chunks.push(chunk));
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => chunks.push(chunk));

  const group = child.pid;
  if (group !== undefined) runningGroups.add(group);
  let isOverdue = false;
  const limit = setTimeout(() => {
    isOverdue = true;
    if (group !== undefined) killGroup(group);
  }, TIME_LIMIT_MS);

  const finish = (succeeded: boolean, ending: string) => {
    clearTimeout(limit);
    if (group !== undefined) runningGroups.delete(group);
    resolve({ succeeded, output: chunks.join(""), ending });
  };
  child.once("error", (error) => finish(false, error.message));
  child.once("exit", (status, signal) => {
    const ending = isOverdue ? `no end within ${TIME_LIMIT_MS / 1000} s` : signal ?? `exit status ${status}`;
    const grace = setTimeout(() => {
      child.stdout.destroy();
      child.stderr.destroy();
    }, PIPE_GRACE_MS);
    child.once("close", () => {
      clearTimeout(grace);
      finish(status === 0 && !isOverdue, ending);
    });
  });
  return promise;
}

/** Makes Ctrl-C and a stop signal end what `runToEnd` has started: in groups of their own, they would outlive us. */
export function endChildrenWithUs(): void {
  for (const [signal, status] of [["SIGINT", 130], ["SIGTERM", 143]] as const) {
    process.on(signal, () => {
      for (const group of runningGroups) killGroup(group);
      process.exit(status);
    });
  }
}

function killGroup(group: number): void {
  try {
    process.kill(-group, "SIGKILL");
  } catch {
    // The group is gone, which is what was wanted.
  }
}
