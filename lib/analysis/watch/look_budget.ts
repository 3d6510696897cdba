/** How often every process may be looked at: a look costs what a hundred samples do. */
import type { Milliseconds } from "../../core/units.ts";

/** Looks that nobody has asked for may take this share of one core in the long run. */
const SHARE = 1 / 250;
/** Saved up, so that the first changes are followed at once. */
const MOST_SAVED_MS = 400;

/** Saves up time and gives it out for looks. */
export class LookBudget {
  #saved = MOST_SAVED_MS;
  #at: number | undefined;

  /** Whether another look may begin. */
  allows(at: Milliseconds): boolean {
    this.#save(at);
    return this.#saved > 0;
  }

  /** Takes what a look has cost, however much that was. */
  spend(at: Milliseconds, took: number): void {
    this.#save(at);
    this.#saved -= took;
  }

  #save(at: number): void {
    this.#saved = Math.min(MOST_SAVED_MS, this.#saved + Math.max(0, at - (this.#at ?? at)) * SHARE);
    this.#at = at;
  }
}
