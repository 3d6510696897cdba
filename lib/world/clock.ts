import { type Milliseconds, milliseconds } from "../core/units.ts";
import type { Clock } from "./ports.ts";

/** More than setTimeout counts to would end at once: a pause must not be cut to nothing, so it is cut to 24 days. */
const LONGEST_PAUSE = 2 ** 31 - 1;

/** The machine's own clock. */
export const realClock: Clock = {
  now: () => new Date().toISOString(),
  monotonic: () => milliseconds(performance.now()),
  pause: (span: Milliseconds) => new Promise((resolve) => setTimeout(resolve, Math.min(span, LONGEST_PAUSE))),
};
