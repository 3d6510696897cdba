/** The terminal, or whatever stands in its place. */
import { fstatSync } from "node:fs";
import type { Libc } from "../native/libc.ts";
import { bindTerminal } from "../native/terminal.ts";
import { STDERR, STDOUT, writeAll } from "./output.ts";
import type { Screen, Terminal } from "./ports.ts";

/** Fewer columns than this are no table; a number as small is a mistake. */
const NARROWEST = 20;

/** Opens the real terminal. Colour follows NO_COLOR and TERM (no-color.org). */
export function openTerminal(variable: (name: string) => string | undefined, libc: Libc): Terminal {
  return {
    out: (text) => writeAll(STDOUT, text),
    err: (text) => {
      try {
        writeAll(STDERR, text);
      } catch {
        // There is nobody left to tell.
      }
    },
    get isJournal() {
      return leadsTo(STDERR.descriptor, variable("JOURNAL_STREAM"));
    },
    get screen() {
      return findScreen(STDOUT.descriptor);
    },
    get errorScreen() {
      return findScreen(STDERR.descriptor);
    },
  };

  function findScreen(descriptor: number): Screen | undefined {
    const terminal = bindTerminal(libc);
    if (!terminal.isTerminal(descriptor)) return undefined;
    const columns = Number(variable("COLUMNS") ?? NaN);
    const size = terminal.findSize(descriptor);
    return {
      columns: Number.isSafeInteger(columns) && columns >= NARROWEST ? columns : size.columns ?? 80,
      ...size.rows !== undefined && { rows: size.rows },
      hasColour: variable("NO_COLOR") === undefined && variable("TERM") !== "dumb",
    };
  }
}

/** Says whether a descriptor is the stream that JOURNAL_STREAM names, as `device:inode`. */
function leadsTo(descriptor: number, stream: string | undefined): boolean {
  if (stream === undefined) return false;
  try {
    const { dev, ino } = fstatSync(descriptor);
    return stream === `${dev}:${ino}`;
  } catch {
    return false; // A closed descriptor leads nowhere.
  }
}
