import { readFileSync } from "node:fs";
import { pid } from "../../lib/core/ids.ts";
import { clockTicks } from "../../lib/core/units.ts";
import type { ProcessIdentity } from "../../lib/model/process.ts";
import { type RunningProgram, type StartOptions, startProgram } from "./running_program.ts";

/** A real process to look at or to end. */
export interface Victim extends RunningProgram {
  readonly identity: ProcessIdentity;
}

/** Dies of the first signal. */
const WILLING = "echo ready; while :; do sleep 0.05; done";
/** Ignores every signal that can be ignored. */
export const STUBBORN = "trap '' TERM INT HUP QUIT; echo ready; while :; do sleep 0.05; done";

/** Starts a shell script that prints `ready` once it stands, and waits for that. */
export async function startVictim(script = WILLING, options: StartOptions = {}): Promise<Victim> {
  const program = startProgram(["/bin/sh", "-c", script], options);
  try {
    await program.untilOutput(/^ready/m);
    const identity = findIdentity(program.pid);
    if (!identity) throw new Error(`${program.pid} ended as soon as it was ready\n${program.stderr}`);
    return Object.assign(program, { identity });
  } catch (error) {
    await program[Symbol.asyncDispose]();
    throw error;
  }
}

/** The identity of a running process; `undefined` for one that is gone, or a zombie. */
export function findIdentity(running: number): ProcessIdentity | undefined {
  const startTicks = startTicksOf(running);
  return startTicks === undefined ? undefined : { pid: pid(running), startTicks: clockTicks(startTicks) };
}

/** Says whether exactly this process is running: neither gone, nor waiting to be reaped, nor another one by now. */
export function isRunning({ pid, startTicks }: ProcessIdentity): boolean {
  return startTicksOf(pid) === startTicks;
}

/** Field 22 of proc_pid_stat(5), counted from the last `)`; `undefined` for a process that is gone or a zombie. */
function startTicksOf(pid: number): number | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch {
    return undefined; // Reading one's own child fails only once it is gone.
  }
  const [state, ...rest] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return state === "Z" || state === "X" ? undefined : Number(rest[18]);
}
