/** Ends a job that runs too long: politely, then firmly, with everything that escaped from it. */
import { type Milliseconds, milliseconds } from "../core/units.ts";
import { isStillRunning, type ProcStat } from "../model/process.ts";
import { FORCED_GRACE } from "./end_process.ts";
import type { Clock, JobRunner, ProcessTable, Signal } from "../world/ports.ts";

export interface EndJobWorld {
  readonly runner: Pick<JobRunner, "listDescendants" | "hasDescendants" | "ownPid">;
  readonly processes: Pick<ProcessTable, "openProcess">;
  readonly clock: Clock;
}

const PAUSE = milliseconds(50);

/**
 * Sends SIGTERM to the command and to what has escaped from it, and SIGKILL after `grace` to whatever of the job still
 * runs: whoever is left then would outlive it. Children that have not escaped are left to the command at first, as it is
 * the one to end them in order.
 */
export async function endJob(grace: Milliseconds, world: EndJobWorld): Promise<void> {
  const { runner, clock } = world;
  for (const process of livingOf(world).filter(({ parentPid }) => parentPid === runner.ownPid)) {
    // A stopped process acts on SIGTERM only once it is continued.
    send(process, process.state === "T" ? ["SIGTERM", "SIGCONT"] : ["SIGTERM"], world);
  }
  if (await hasEmptied(grace, world)) return;
  const deadline = clock.monotonic() + FORCED_GRACE;
  // One that is just being killed may have started another: look again until there is none.
  while (clock.monotonic() < deadline) {
    if (!world.runner.hasDescendants()) return;
    for (const process of livingOf(world)) send(process, ["SIGKILL"], world);
    await clock.pause(PAUSE);
  }
}

async function hasEmptied(limit: Milliseconds, world: EndJobWorld): Promise<boolean> {
  const deadline = world.clock.monotonic() + limit;
  while (world.runner.hasDescendants()) {
    if (world.clock.monotonic() >= deadline) return false;
    await world.clock.pause(PAUSE);
  }
  return true;
}

/** The job's processes in which something still runs, as far as they show; `hasDescendants()` says whether any may. A zombie only waits to be reaped, unless threads of it live. */
export function livingOf({ runner }: { readonly runner: Pick<JobRunner, "listDescendants"> }): ProcStat[] {
  return runner.listDescendants().filter(isStillRunning);
}

function send(process: ProcStat, signals: readonly Signal[], { processes }: EndJobWorld): void {
  using handle = processes.openProcess(process);
  for (const signal of signals) handle?.send(signal);
}
