/** How a reset ends the program. */
import type { EXIT } from "../core/errors.ts";
import type { Blocker, Reset, ResetOutcome } from "../model/reset.ts";

const ENDINGS = {
  plan: "finding",
  blocked: "refused",
  done: "ok",
  failed: "partial",
  "not-back": "partial",
  interrupted: "partial",
} as const satisfies Record<ResetOutcome, keyof typeof EXIT>;

/** A plan is a finding whatever it says; who lacks only the right to reset is told so by its own status. */
export function endingOfReset({ outcome, blockers }: Pick<Reset, "outcome" | "blockers">): keyof typeof EXIT {
  return outcome === "blocked" && isForRoot(blockers) ? "denied" : ENDINGS[outcome];
}

/** Says whether the lack of root's rights is among what stands in the way. */
function isForRoot(blockers: readonly Blocker[]): boolean {
  return blockers.some(({ kind }) => kind === "not-root");
}
