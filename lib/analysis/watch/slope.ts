/** How fast a series of sizes grows, judged so that neither noise nor a single step passes for growth. */
import type { Milliseconds } from "../../core/units.ts";

/** One value of a series. */
export interface Point {
  readonly at: Milliseconds;
  readonly value: number;
}

/** Parts that a window is cut into. */
const PARTS = 6;
/** Fewer points than this in a part have no quartiles worth the name. */
const POINTS_PER_PART = 4;
/** What a part has to rise by at least, of what parts rise by on average. */
const LEAST_SHARE = 1 / 4;
const LEAST_POINTS = PARTS * POINTS_PER_PART;

/** How many points a window needs. */
export const POINTS_PER_WINDOW = LEAST_POINTS * 2;

/**
 * The median of the slopes between all pairs of points, per millisecond (Theil and Sen): up to 29 % of the points may be
 * anything at all without moving it far. `undefined` for fewer than two moments.
 */
export function robustSlope(points: readonly Point[]): number | undefined {
  const slopes: number[] = [];
  for (const [place, first] of points.entries()) {
    for (const second of points.slice(place + 1)) {
      if (second.at > first.at) slopes.push((second.value - first.value) / (second.at - first.at));
    }
  }
  return slopes.length === 0 ? undefined : quantile(slopes.sort(ascending), 0.5);
}

/**
 * Whether a series rises all along: of six parts each lies above the one before, the lower quartile of the later not
 * below the upper quartile of the earlier, and by no less than a quarter of what they rise on average. An allocation
 * lifts one part over another and no more, and noise lifts none by as much.
 */
export function risesAllAlong(points: readonly Point[]): boolean {
  const parts = cutIntoParts(points);
  const [first, last] = [parts[0], parts.at(-1)];
  if (first === undefined || last === undefined) return false;
  const least = (quantile(last, 0.5) - quantile(first, 0.5)) / (PARTS - 1) * LEAST_SHARE;
  return parts.every((later, place) => {
    const earlier = parts[place - 1];
    return earlier === undefined || liesAbove(later, earlier, least);
  });
}

/** Whether it still rose in the later half. */
export function stillRises(points: readonly Point[]): boolean {
  const later = cutIntoParts(points).slice(PARTS / 2 - 1);
  return later.some((part, place) => {
    const earlier = later[place - 1];
    return earlier !== undefined && liesAbove(part, earlier, 0);
  });
}

/** The values of each part in their order; none where there are too few for that. */
function cutIntoParts(points: readonly Point[]): readonly (readonly number[])[] {
  if (points.length < LEAST_POINTS) return [];
  const cut = (part: number) => Math.floor(part * points.length / PARTS);
  return Array.from(
    { length: PARTS },
    (_, part) => points.slice(cut(part), cut(part + 1)).map(({ value }) => value).sort(ascending),
  );
}

/** Memory comes in blocks: where one is all that there is between two parts, their quartiles may touch. */
function liesAbove(later: readonly number[], earlier: readonly number[], least: number): boolean {
  const rise = quantile(later, 0.5) - quantile(earlier, 0.5);
  return quantile(later, 0.25) >= quantile(earlier, 0.75) && rise > 0 && rise >= least;
}

/** The middle of an even number is the lower of the two: a value that was there. */
function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.floor(share * (sorted.length - 1))] ?? NaN;
}

function ascending(a: number, b: number): number {
  return a - b;
}
