/** Everything that stands in the way of a reset, by name. Pure: one look in, the whole list out. */
import type { Blocker, BlockerClearer, GpuResetNeed } from "../model/reset.ts";
import { findGpuBlockers } from "./reset_gpu_blockers.ts";
import { findProcessBlockers } from "./reset_holders.ts";
import type { ResetFlags, ResetInput } from "./reset_input.ts";
import { findLinkBlockers } from "./reset_links.ts";
import { findMachineBlockers } from "./reset_machine_blockers.ts";
import { findModuleBlockers } from "./reset_module_blockers.ts";

export { findClockBlockers } from "./reset_machine_blockers.ts";

/** What nobody here can take away comes first, what is merely lost last. */
const HARDEST_FIRST: readonly BlockerClearer[] = ["nobody", "stop-services", "evict", "plan", "warning"];

/** Finds everything that stands in the way. Nothing is left out, and what could not be seen is on the list itself. */
export function findBlockers(input: ResetInput, needs: readonly GpuResetNeed[]): Blocker[] {
  const found = [
    ...findMachineBlockers(input),
    ...findModuleBlockers(input),
    ...findGpuBlockers(input, needs),
    ...findLinkBlockers(input),
    ...findProcessBlockers(input),
  ];
  return found.sort((a, b) => HARDEST_FIRST.indexOf(a.clearedBy) - HARDEST_FIRST.indexOf(b.clearedBy));
}

/** The blockers that stay, whatever the plan does with these flags. While there is one, nothing is begun. */
export function findStanding(
  blockers: readonly Blocker[],
  flags: Pick<ResetFlags, "evict" | "stopServices">,
): Blocker[] {
  const isCleared = {
    nobody: false,
    evict: flags.evict,
    "stop-services": flags.stopServices,
    plan: true,
    warning: true,
  } as const satisfies Record<BlockerClearer, boolean>;
  return blockers.filter(({ clearedBy }) => !isCleared[clearedBy]);
}
