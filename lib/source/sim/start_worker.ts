/** Starting a worker: this program again, as `gpuctl sim worker`, with its order on standard input. */
import { spawn } from "node:child_process";
import { constants } from "node:os";
import { env } from "node:process";
import { GpuctlError } from "../../core/errors.ts";
import { STANDING_DESCRIPTOR, type WorkerOrder } from "./orders.ts";

export interface WorkerOptions {
  /** How this program starts itself. */
  readonly self: readonly string[];
  /** What its command line shows behind `gpuctl sim worker --`. */
  readonly argv: readonly string[];
  /** Open files that it inherits, from descriptor 4 on. */
  readonly descriptors?: readonly number[];
  /** Variables beside this process's own. */
  readonly variables?: Readonly<Record<string, string>>;
  /** A session of its own and no output: no part of the job that anybody sees. */
  readonly isApart?: boolean;
}

export interface Worker {
  readonly pid: number;
  /** The exit status, 128 and the signal's number where a signal ended it. */
  readonly ended: Promise<number>;
  /** Ends it at once. */
  kill(): void;
}

/**
 * Starts a worker and waits until it stands.
 *
 * @throws {GpuctlError} if it ends before that; it has said why on standard error.
 */
export async function startWorker(order: WorkerOrder, options: WorkerOptions): Promise<Worker> {
  const { self: [program = "", ...words], argv, descriptors = [], variables, isApart = false } = options;
  const output = isApart ? "ignore" : "inherit";
  const child = spawn(program, [...words, "sim", "worker", "--", ...argv], {
    stdio: ["pipe", output, isApart ? "ignore" : "inherit", "pipe", ...descriptors],
    detached: isApart,
    env: { ...env, ...variables },
  });
  const ended = new Promise<number>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (status, signal) => resolve(status ?? 128 + (signal ? constants.signals[signal] : 0)));
  });
  // A worker that is gone cannot be written to. That it is gone says more.
  child.stdin?.on("error", () => {});
  child.stdin?.write(`${JSON.stringify(order)}\n`);
  const standing = new Promise<"standing">((resolve) => {
    child.stdio[STANDING_DESCRIPTOR]?.once("data", () => resolve("standing"));
  });
  const first = await Promise.race([standing, ended]);
  if (first !== "standing" || child.pid === undefined) {
    throw new GpuctlError("unavailable", `Cannot set the scene: its worker ended with status ${first}`);
  }
  return { pid: child.pid, ended, kill: () => void child.kill("SIGKILL") };
}
