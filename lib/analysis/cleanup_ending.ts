/** The exit status of a cleaning. */
import { type EXIT, worstEnding } from "../core/errors.ts";
import { type Cleanup, type EndOutcome, isProven } from "../model/cleanup.ts";

const IS_DONE = {
  planned: false,
  ended: true,
  "ended-by-force": true,
  "already-gone": true,
  changed: false,
  denied: false,
  survived: false,
  "memory-held": false,
} as const satisfies Record<EndOutcome, boolean>;

/**
 * `ok` when clean or cleaned and all of it seen, `partial` when something withstood, `finding` for a plan, for memory that
 * nobody may free, and for what was left behind and is spared for now; `unavailable` for nothing found by half a look.
 */
export function endingOf(cleanup: Cleanup): keyof typeof EXIT {
  return worstEnding([endingOfFound(cleanup), isProven(cleanup) ? "ok" : "unavailable"]);
}

function endingOfFound({ isPlan, acts, ghosts, kept }: Cleanup): keyof typeof EXIT {
  const isHeld = ghosts.length > 0 || kept.some(({ isSpared }) => isSpared);
  if (isPlan) return acts.length > 0 || isHeld ? "finding" : "ok";
  if (acts.some(({ outcome }) => !IS_DONE[outcome])) return "partial";
  return isHeld ? "finding" : "ok";
}
