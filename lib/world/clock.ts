import { LONGEST_TIMER_MS, type Milliseconds, milliseconds } from "../core/units.ts";
import type { Clock } from "./ports.ts";

/** The machine's own clock. */
export const realClock: Clock = {
  now: () => new Date().toISOString(),
  monotonic: () => milliseconds(performance.now()),
  pause: (span: Milliseconds) =>
    new Promise((resolve) => setTimeout(resolve, Math.min(span, LONGEST_TIMER_MS))),
};
