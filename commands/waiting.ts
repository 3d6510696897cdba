/** A word to whoever sits before the terminal while nothing seems to happen. */
import { formatDuration, type Milliseconds, milliseconds } from "../lib/core/units.ts";
import type { Terminal } from "../lib/world/ports.ts";

/** Nobody wonders about less. */
const SHORTEST = milliseconds(1000);

/** Says what is waited for, and for how long at most: on a terminal alone, and never to those who asked for silence. */
export function tellWaits(
  { err, errorScreen, isJournal }: Terminal,
  { json = false, quiet = false }: {
    readonly json?: boolean | undefined;
    readonly quiet?: boolean | undefined;
  },
): (purpose: string, atMost: Milliseconds) => void {
  const isHeard = errorScreen !== undefined && !isJournal && !json && !quiet;
  return (purpose, atMost) => {
    if (isHeard && atMost >= SHORTEST) {
      err(`gpuctl: waiting for ${purpose}, at most ${formatDuration(atMost)}\n`);
    }
  };
}
