/** A word to whoever sits before the terminal while nothing seems to happen. */
import { printable } from "../lib/core/text.ts";
import { formatDuration, type Milliseconds, milliseconds } from "../lib/core/units.ts";
import type { Terminal } from "../lib/world/ports.ts";

/** Nobody wonders about less. */
const SHORTEST = milliseconds(1000);

interface Silence {
  readonly json?: boolean | undefined;
  readonly quiet?: boolean | undefined;
}

/** Says what goes on: on a terminal alone, and never to those who asked for silence. */
export function tellProgress(
  { err, errorScreen, isJournal }: Terminal,
  { json = false, quiet = false }: Silence,
): (sentence: string) => void {
  const isHeard = errorScreen !== undefined && !isJournal && !json && !quiet;
  return (sentence) => {
    if (isHeard) err(`gpuctl: ${printable(sentence)}\n`);
  };
}

/** Says what is waited for, and for how long at most. */
export function tellWaits(
  terminal: Terminal,
  silence: Silence,
): (purpose: string, atMost: Milliseconds) => void {
  const tell = tellProgress(terminal, silence);
  return (purpose, atMost) => {
    if (atMost >= SHORTEST) tell(`waiting for ${purpose}, at most ${formatDuration(atMost)}`);
  };
}
