import { errnoOf } from "../core/errors.ts";
import type { ProcessTable } from "../world/ports.ts";

/**
 * The processes that this reader may see. One that a mount option hides (hidepid of proc(5)) is not found: for whoever
 * looks for a job among everybody it is somebody of whom nothing is known, and never a reason to end the watch.
 */
export function visibleProcesses(
  { findProcess }: Pick<ProcessTable, "findProcess">,
): Pick<ProcessTable, "findProcess"> {
  return {
    findProcess(pid) {
      try {
        return findProcess(pid);
      } catch (error) {
        if (["EACCES", "EPERM"].includes(errnoOf(error) ?? "")) return undefined;
        throw error;
      }
    },
  };
}
