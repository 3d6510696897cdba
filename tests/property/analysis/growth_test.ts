import fc from "fast-check";
import { test } from "node:test";
import { GrowthWatch } from "../../../lib/analysis/watch/growth.ts";
import { bytes, clockTicks, milliseconds } from "../../../lib/core/units.ts";
import { reportOf } from "../../support/machine.ts";

const MIB = 1024 ** 2;
const HOUR = 3_600_000;
const SPAN = milliseconds(600_000);
/** Seconds between two looks. */
const STEP = 10;

/** A number from 0 to 1 for each place: the same for the same seed (mulberry32). */
function noiseOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The second at which a series is first told of as growth; `undefined` if never. */
function toldAt(mibAt: (second: number) => number, seconds: number): number | undefined {
  const rule = { perHour: bytes(64 * MIB), window: SPAN, warmUp: milliseconds(0) };
  const watch = new GrowthWatch(rule);
  for (let second = 0; second <= seconds; second += STEP) {
    const mib = Math.max(0, Math.round(mibAt(second)));
    const { gpus } = reportOf({ processes: [{ pid: 50, touch: "context", mib }] });
    const found = watch.add({
      at: milliseconds(second * 1000),
      gpus,
      findProcess: (pid) => ({
        startTicks: clockTicks(1),
        age: milliseconds(HOUR),
        name: () => ({ pid, command: undefined }),
      }),
    });
    if (found.some(({ isOver }) => isOver)) return second;
  }
  return undefined;
}

const seeds = fc.integer({ min: 0, max: 2 ** 31 });

test("GrowthWatch never takes noise for growth, however loud it is", () => {
  fc.assert(
    fc.property(seeds, fc.integer({ min: 0, max: 8000 }), (seed, loudness) => {
      const noise = noiseOf(seed);
      return toldAt(() => 10_000 + loudness * (noise() - 0.5), 4 * 3600) === undefined;
    }),
    { numRuns: 30 },
  );
});

test("GrowthWatch never takes up to four allocations, quiet or noisy, for growth", () => {
  const step = fc.record({ at: fc.nat(3600), mib: fc.integer({ min: 200, max: 20_000 }) });
  fc.assert(
    fc.property(seeds, fc.array(step, { minLength: 1, maxLength: 4 }), (seed, steps) => {
      const noise = noiseOf(seed);
      const taken = (second: number) =>
        steps.reduce((sum, { at, mib }) => second >= at ? sum + mib : sum, 5000);
      return toldAt((second) => taken(second) + 10 * noise(), 3600) === undefined;
    }),
    { numRuns: 60 },
  );
});

test("GrowthWatch always tells of a steady ramp as soon as the window is full, and soon of a noisy one", () => {
  fc.assert(
    fc.property(seeds, fc.integer({ min: 1, max: 500 }), fc.nat(100), (seed, mibPerMinute, calm) => {
      const noise = noiseOf(seed);
      const pace = Math.max(mibPerMinute, 2) / 60;
      const steady = toldAt((second) => 1000 + pace * second, 3600);
      // As loud as half of what a sixth of the window brings.
      const loudness = pace * 50 * calm / 100;
      const noisy = toldAt((second) => 1000 + pace * second + loudness * (noise() - 0.5), 3600);
      return steady !== undefined && steady <= 620 && noisy !== undefined && noisy <= 900;
    }),
    { numRuns: 40 },
  );
});
