import { readFileSync } from "node:fs";
import { type Pid, pid } from "../../lib/core/ids.ts";
import { clockTicks } from "../../lib/core/units.ts";
import type { ProcessIdentity } from "../../lib/model/process.ts";
import { compileCProgram, type CProgram } from "./c_program.ts";
import { type RunningProgram, type StartOptions, startProgram } from "./running_program.ts";

/** A real process that has done what it was told (tests/fixtures/proc/actor.c) and now waits for its end. */
export interface Actor extends RunningProgram {
  readonly identity: ProcessIdentity;
  /** The child of an act `child` or `zombie`. */
  readonly child: Pid | undefined;
}

/** Starts actors until it is disposed of. */
export interface Stage extends Disposable {
  readonly program: string;
  /** Starts one and waits until its acts are done. */
  start(acts: readonly string[], options?: StartOptions): Promise<Actor>;
}

/** Compiles the actor. */
export function openStage(): Stage {
  const program: CProgram = compileCProgram("actor");
  return {
    program: program.path,
    async start(acts, options = {}) {
      const running = startProgram([program.path, ...acts], options);
      try {
        await running.untilOutput(/^ready$/m);
        const child = /^(?:child|zombie) (\d+)$/m.exec(running.stdout)?.[1];
        return Object.assign(running, {
          identity: { pid: pid(running.pid), startTicks: startTicksOf(running.pid) },
          child: child === undefined ? undefined : pid(Number(child)),
        });
      } catch (error) {
        await running[Symbol.asyncDispose]();
        throw error;
      }
    },
    [Symbol.dispose]: () => program[Symbol.dispose](),
  };
}

/** Field 22 of proc_pid_stat(5), counted from the last `)`: a dead main thread has one as well. */
function startTicksOf(id: number): ProcessIdentity["startTicks"] {
  const stat = readFileSync(`/proc/${id}/stat`, "latin1");
  return clockTicks(Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]));
}
