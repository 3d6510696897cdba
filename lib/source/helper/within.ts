import { LONGEST_TIMER_MS } from "../../core/units.ts";

/** What stands for a value that did not come in time. */
export const LATE: unique symbol = Symbol("late");

/** Waits for a promise no longer than `span` milliseconds. The promise itself is not ended by that. */
export async function within<T>(promise: Promise<T>, span: number): Promise<T | typeof LATE> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<typeof LATE>((settle) =>
    timer = setTimeout(() => settle(LATE), Math.min(Math.max(0, span), LONGEST_TIMER_MS))
  );
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
