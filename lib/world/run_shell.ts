/** Runs a command that somebody has typed for us to run when something happens. */
import { spawn } from "node:child_process";
import process from "node:process";
import { messageOf } from "../core/errors.ts";
import { noteOwnChild } from "../proc/own_children.ts";
import { LATE, within } from "../source/helper/within.ts";
import type { ShellEnd, ShellOptions, ShellRun } from "./ports.ts";

/** What is kept of its output: the end says what went wrong. */
const KEPT_CHARACTERS = 4096;
/** Between SIGTERM and SIGKILL. */
const GRACE_MS = 2000;
/** What was written before the end may still be in the pipe. What it left in the background may write for ever. */
const DRAIN_MS = 100;

/**
 * Gives a line to `/bin/sh -c`. It has a session of its own, so that no key on our terminal reaches it; its input is empty
 * and its output is read as it comes, whatever it writes.
 */
export async function runShell(line: string, { variables, span }: ShellOptions): Promise<ShellRun> {
  let output = "";
  try {
    const child = spawn("/bin/sh", ["-c", line], {
      detached: true,
      env: { ...process.env, ...variables },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const streams = [child.stdout, child.stderr];
    for (const stream of streams) {
      stream.setEncoding("utf8").on(
        "data",
        (text: string) => output = `${output}${text}`.slice(-KEPT_CHARACTERS),
      ).on("error", () => {}); // A pipe that breaks has nothing more to say.
    }
    const ended = new Promise<ShellEnd>((settle) => {
      child.on("error", (error) => settle({ kind: "not-started", message: messageOf(error) }));
      child.on(
        "exit",
        (status, signal) =>
          settle(signal === null ? { kind: "exited", status: status ?? 0 } : { kind: "killed", signal }),
      );
    });
    const closed = new Promise<void>((settle) => child.on("close", () => settle()));
    const { pid } = child;
    if (pid !== undefined) noteOwnChild(pid, ended);
    const end = await within(ended, span);
    if (end === LATE && pid !== undefined) await endGroup(pid, ended);
    await within(closed, DRAIN_MS);
    for (const stream of streams) stream.destroy();
    child.unref();
    return { end: end === LATE ? { kind: "timed-out" } : end, output };
  } catch (error) {
    return { end: { kind: "not-started", message: messageOf(error) }, output };
  }
}

/** Ends the command with its process group, which bears its pid. That is its own until it has been collected. */
async function endGroup(pid: number, ended: Promise<ShellEnd>): Promise<void> {
  signalGroup(pid, "SIGTERM");
  if (await within(ended, GRACE_MS) === LATE) signalGroup(pid, "SIGKILL");
}

function signalGroup(pid: number, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // It has ended since, with everybody in it.
  }
}
