/**
 * The last look before a GPU is reset, at /proc alone: whoever came while others were ended and services stopped is seen
 * here. The driver is not asked: no helper of ours may have the GPU open any more.
 */
import { isUseOf } from "../analysis/reset_users.ts";
import { nameGpus, type ResetInput, scanOf } from "../analysis/reset_input.ts";
import { busIdsOf } from "../analysis/reset_plan.ts";
import { printable } from "../core/text.ts";
import type { ProcStat } from "../model/process.ts";
import type { Blocker, ResetStep } from "../model/reset.ts";
import type { LiveSource } from "../model/source_choice.ts";
import type { World } from "../world/ports.ts";

export type FreeWorld = Pick<World, "openPopulation" | "openUses" | "processes">;

/** What the reset was planned from. */
export interface PlannedFrom {
  readonly source: LiveSource;
  readonly input: ResetInput;
  readonly blockers: readonly Blocker[];
}

/** Says who has a GPU of this step open and was not reckoned with; `undefined` where nobody who can be seen has. */
export async function findLateUsers(
  step: ResetStep,
  { source, input, blockers }: PlannedFrom,
  { openPopulation, openUses, processes }: FreeWorld,
): Promise<string | undefined> {
  const named = new Set(busIdsOf(step));
  const gpus = input.gpus.filter(({ busId }) => busId.ok && named.has(busId.value));
  using population = await openPopulation();
  using reader = await openUses(source);
  const uses = await reader.readUses(population.listPids());
  const found = gpus.flatMap((gpu) => {
    const expected = new Set(
      blockers.filter((each) => each.gpu === gpu.uuid && isReckonedWith(each)).map(({ pid }) => pid),
    );
    return [...uses].flatMap(([pid, reading]) => {
      // What cannot be read of somebody is on the list of what stands in the way already.
      if (!reading.ok || !reading.value.some((use) => isUseOf(use, gpu))) return [];
      const now = processes.findProcess(pid);
      if (now === undefined || (expected.has(pid) && isSame(now, input))) return [];
      return [`${describe(now, input)} has ${nameGpus([gpu])} open`];
    });
  });
  return found.length === 0 ? undefined : found.join("; ");
}

/** Who may have the GPU open while it is reset. */
function isReckonedWith({ clearedBy }: Blocker): boolean {
  return clearedBy === "plan" || clearedBy === "warning";
}

function isSame({ pid, startTicks }: ProcStat, input: ResetInput): boolean {
  return scanOf(input)?.processes.get(pid)?.startTicks === startTicks;
}

function describe({ pid, comm }: ProcStat, input: ResetInput): string {
  return pid === scanOf(input)?.reader.pid ? `gpuctl itself (PID ${pid})` : `PID ${pid} (${printable(comm)})`;
}
