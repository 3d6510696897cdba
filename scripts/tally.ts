/** What tests came to. */
export interface Tally {
  readonly passed: number;
  readonly failed: number;
  /** The tests that proved nothing, by name. */
  readonly skipped: readonly string[];
  /** What was counted as failed without being a test, in words. */
  readonly notes: readonly string[];
}

/** Adds tallies up. */
export function sumTallies(tallies: readonly Tally[]): Tally {
  return {
    passed: tallies.reduce((sum, { passed }) => sum + passed, 0),
    failed: tallies.reduce((sum, { failed }) => sum + failed, 0),
    skipped: tallies.flatMap(({ skipped }) => skipped),
    notes: tallies.flatMap(({ notes }) => notes),
  };
}

/** The last line of every run, which scripts read. */
export function sumLine({ passed, failed }: Tally): string {
  return `${passed} passed, ${failed} failed`;
}
