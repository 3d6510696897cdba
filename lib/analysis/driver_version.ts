/** Versions of the driver and of CUDA: numbers with dots. */

/** Compares two versions part by part; parts that one lacks count as 0. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [partsOf(a), partsOf(b)];
  for (let place = 0; place < Math.max(left.length, right.length); place++) {
    const difference = (left[place] ?? 0) - (right[place] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Whether two versions are one, of which either may have been cut short: 580.178 is 580.178.04 as well. */
export function sameVersion(a: string, b: string): boolean {
  const [left, right] = [partsOf(a), partsOf(b)];
  const common = Math.min(left.length, right.length);
  return common > 1 && left.slice(0, common).join() === right.slice(0, common).join();
}

function partsOf(version: string): number[] {
  return version.split(".").map(Number);
}
