import { formatAbsent } from "../core/reading.ts";
import type { Problem } from "../model/snapshot.ts";

/** A problem as a sentence with its reason between the marks; without it where the sentence says it already. */
export function formatProblem(
  { message, reason }: Pick<Problem, "message" | "reason">,
  [before, after]: readonly [string, string] = [" [", "]"],
): string {
  const isSaid = reason.detail !== undefined && reason.detail !== "" && message.includes(reason.detail);
  return isSaid ? message : `${message}${before}${formatAbsent(reason)}${after}`;
}
