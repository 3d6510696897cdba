import assert from "node:assert/strict";
import fc from "fast-check";
import type { FuzzTarget } from "./targets.ts";

/** Longer than any input takes on a machine with other work, and short enough to be no hang. */
const LONGEST_MS = 2000;

/** How long to go on. Whatever comes first ends it. */
export interface FuzzLimits {
  readonly runs: number;
  readonly within: number;
  /** Chosen by fast-check unless given. A failure prints its own. */
  readonly seed?: number;
}

/** What was tried. Times are in milliseconds. */
export interface FuzzTally {
  readonly tried: number;
  readonly took: number;
  readonly slowest: number;
}

/** Tries a parser with one input after the other. @throws what breaks its law, with the seed and the smallest input */
export async function fuzz(
  { inputs, check }: FuzzTarget,
  { runs, within, seed }: FuzzLimits,
): Promise<FuzzTally> {
  let tried = 0;
  let slowest = 0;
  const started = performance.now();
  const property = fc.asyncProperty(inputs, async (mutant) => {
    tried++;
    const before = performance.now();
    await check(mutant);
    const took = performance.now() - before;
    slowest = Math.max(slowest, took);
    assert.ok(took < LONGEST_MS, `one input of ${mutant.text.length} characters took ${Math.round(took)} ms`);
  });
  await fc.assert(property, {
    numRuns: runs,
    interruptAfterTimeLimit: within,
    markInterruptAsFailure: false,
    ...seed !== undefined && { seed },
  });
  return { tried, took: performance.now() - started, slowest };
}
