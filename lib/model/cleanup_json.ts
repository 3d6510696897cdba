/** A cleaning as JSON, `gpuctl.clean-zombies/1`. */
import { valueOf } from "../core/reading.ts";
import type { Cleanup } from "./cleanup.ts";

/** The object that scripts read. A missing number is null. */
export function encodeCleanup(
  { takenAt, simulated, isPlan, acts, heldBytes, kept, ghosts, problems }: Cleanup,
) {
  return {
    schema: "gpuctl.clean-zombies/1",
    takenAt: valueOf(takenAt) ?? null,
    simulated,
    plan: isPlan,
    acts,
    heldBytes,
    kept,
    ghosts: ghosts.map(({ pid, gpu, contextBytes, likelyHolders }) => ({
      pid,
      gpu,
      contextBytes: contextBytes.ok ? contextBytes.value : null,
      likelyHolders,
    })),
    problems: problems.map(({ subject, reason, message }) => ({
      subject,
      why: reason.why,
      detail: reason.detail ?? null,
      message,
    })),
  };
}
