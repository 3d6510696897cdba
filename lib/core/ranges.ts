/** Several numbers as people write them. */

/** Writes numbers in order, runs as ranges: `["0-3", "7"]`. */
export function formatRanges(numbers: readonly number[]): string[] {
  const runs: [number, number][] = [];
  for (const number of [...new Set(numbers)].sort((a, b) => a - b)) {
    const last = runs.at(-1);
    if (last !== undefined && last[1] === number - 1) last[1] = number;
    else runs.push([number, number]);
  }
  return runs.map(([first, last]) => first === last ? `${first}` : `${first}-${last}`);
}

/** Names GPUs by their indexes, as `--gpu` takes them: `GPU 0,2-7`. */
export function nameIndexes(indexes: readonly number[]): string {
  return `GPU ${formatRanges(indexes).join(",")}`;
}
