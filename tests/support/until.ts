import { setTimeout as pause } from "node:timers/promises";

/** What a condition says while it does not hold. */
type NotYet = undefined | null | false;

const LIMIT_MS = 10_000;
const INTERVAL_MS = 10;

/**
 * Waits until a condition holds, and gives what it then says. The one way to wait in a test.
 *
 * @param what completes "waited for ..." in the error
 * @throws {Error} if it does not hold within the limit (10 s), which is for machines that are busy, not for pace.
 */
export async function until<T>(
  what: string,
  condition: () => T | NotYet | Promise<T | NotYet>,
  { within = LIMIT_MS }: { readonly within?: number } = {},
): Promise<T> {
  const deadline = performance.now() + within;
  while (true) {
    const answer = await condition();
    if (answer !== undefined && answer !== null && answer !== false) return answer;
    if (performance.now() > deadline) throw new Error(`waited for ${what}: not so within ${within} ms`);
    await pause(INTERVAL_MS);
  }
}
