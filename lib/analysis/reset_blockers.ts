/** Everything that stands in the way of a reset, by name. Pure: one look in, the whole list out. */
import { formatAbsent } from "../core/reading.ts";
import type { Blocker, BlockerClearer, GpuResetNeed } from "../model/reset.ts";
import { findGpuBlockers } from "./reset_gpu_blockers.ts";
import { findProcessBlockers } from "./reset_holders.ts";
import { type ResetFlags, type ResetInput, scanOf } from "./reset_input.ts";
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
  return found.map((blocker) => withLastingUnit(blocker, input)).sort((a, b) =>
    HARDEST_FIRST.indexOf(a.clearedBy) - HARDEST_FIRST.indexOf(b.clearedBy)
  );
}

/** Only what can be started again, and by us, is stopped. */
function withLastingUnit(blocker: Blocker, input: ResetInput): Blocker {
  const { unit, ...rest } = blocker;
  if (unit === undefined || blocker.clearedBy !== "stop-services") return blocker;
  const why = whyLost(unit, input);
  return why === undefined ? blocker : { ...rest, why: `${blocker.why}; ${why}`, clearedBy: "nobody" };
}

/** Why a unit would stay away once it was stopped. One made with systemd-run goes with its process, which is a job's own. */
function whyLost(unit: string, input: ResetInput): string | undefined {
  const { transientUnits } = input.facts;
  if (!transientUnits.ok) {
    return `whether it can be started again is not known: ${formatAbsent(transientUnits)}`;
  }
  if (transientUnits.value.has(unit)) {
    return "somebody made it with systemd-run, so that it cannot be started again";
  }
  const scan = scanOf(input);
  const isOurs = scan?.reader.ownPids.some((pid) => {
    const owner = scan.processes.get(pid)?.owner;
    return owner?.ok === true && owner.value.unit === unit;
  });
  return isOurs === true ? "gpuctl itself runs in it, and would be stopped with it" : undefined;
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
