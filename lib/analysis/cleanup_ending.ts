/** The exit status of a cleaning. */
import type { EXIT } from "../core/errors.ts";
import type { Cleanup, EndOutcome } from "../model/cleanup.ts";

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

/** `ok` when clean or cleaned, `partial` when something withstood, `finding` for a plan, or memory that nobody may free. */
export function endingOf({ isPlan, acts, ghosts }: Cleanup): keyof typeof EXIT {
  if (isPlan) return acts.length > 0 || ghosts.length > 0 ? "finding" : "ok";
  if (acts.some(({ outcome }) => !IS_DONE[outcome])) return "partial";
  return ghosts.length > 0 ? "finding" : "ok";
}
