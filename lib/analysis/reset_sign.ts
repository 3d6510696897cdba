/** What one thing that was seen speaks for. A verdict is the most drastic of its signs. */
import type { Pid } from "../core/ids.ts";
import { formatAbsent, type Reading } from "../core/reading.ts";
import type { ResetAdvice } from "../model/reset.ts";

export interface ResetSign {
  /** `none` where it is worth saying and no reset mends it; `unknown` where something could not be read. */
  readonly advice: ResetAdvice;
  readonly reason: string;
  readonly processes?: readonly Pid[];
}

/** Less than this beside no context is what an idle GPU shows. */
export const IDLE_BYTES = 64 * 1024 ** 2;

/** The sign of a value that could not be read; none where it was, or where this GPU has no such value. */
export function gapOf(reading: Reading<unknown>, what: string): ResetSign[] {
  if (reading.ok || reading.why === "not-supported") return [];
  return [{ advice: "unknown", reason: `${what} is not known: ${formatAbsent(reading)}` }];
}
