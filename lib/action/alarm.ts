import { type Milliseconds, milliseconds } from "../core/units.ts";
import type { Clock } from "../world/ports.ts";

/** setTimeout counts to 2^31 ms; longer pauses are taken in pieces. */
const LONGEST_PIECE = milliseconds(86_400_000);
/** Timers are exact to a millisecond; what one left over is not worth another. */
const SHORTEST_PIECE_MS = 1;

/**
 * An event that cuts pauses short. Any number of pauses costs the event's promise one reaction: `Promise.race` would leave
 * one behind for each.
 */
export class Alarm {
  #hasRung = false;
  #wake: (() => void) | undefined;

  constructor(event: Promise<unknown>) {
    const ring = () => {
      this.#hasRung = true;
      this.#wake?.();
    };
    event.then(ring, ring);
  }

  get hasRung(): boolean {
    return this.#hasRung;
  }

  /** Waits for the span or the event, whichever is first. One pause at a time. */
  async pause(span: Milliseconds, clock: Pick<Clock, "monotonic" | "pause">): Promise<void> {
    const deadline = clock.monotonic() + span;
    let left: number = span;
    while (left >= SHORTEST_PIECE_MS && !this.#hasRung) {
      const piece = milliseconds(Math.min(left, LONGEST_PIECE));
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        clock.pause(piece).then(resolve);
      });
      left = deadline - clock.monotonic();
    }
  }

  /** What a promise comes to, or `undefined` if the event comes first: then nobody waits for it any more. */
  async outwait<T>(promise: Promise<T>): Promise<T | undefined> {
    if (this.#hasRung) return undefined;
    return await new Promise<T | undefined>((resolve, reject) => {
      this.#wake = () => resolve(undefined);
      promise.then(resolve, reject);
    });
  }
}
