/** Waiting where there is nothing else to do: the thread sleeps, and a signal without a handler does its default work. */
import type { Milliseconds } from "../core/units.ts";

/** Sleeps this long; for good without a span. */
export function sleep(span?: Milliseconds): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, span);
}
