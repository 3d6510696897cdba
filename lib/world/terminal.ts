/**
 * Standard output and standard error, written with the system call itself: the runtimes' stream objects cost 16 ms at
 * first touch and lose the end of piped output when the program exits.
 */
import { fstatSync, writeSync } from "node:fs";
import { errnoOf, GpuctlError, messageOf } from "../core/errors.ts";
import type { Libc } from "../native/libc.ts";
import { bindTerminal } from "../native/terminal.ts";
import type { Terminal } from "./ports.ts";

const STDOUT = 1;
const STDERR = 2;
/** Fewer columns than this are no table; a number as small is a mistake. */
const NARROWEST = 20;

/** Thrown through everything when the reader of our output has gone: it has read all it wanted. */
export class ClosedPipe extends Error {}

/** Opens the real terminal. Colour follows NO_COLOR and TERM (no-color.org). */
export function openTerminal(variable: (name: string) => string | undefined, libc: Libc): Terminal {
  return {
    out: (text) => writeAll(STDOUT, text, "standard output"),
    err: (text) => {
      try {
        writeAll(STDERR, text, "standard error");
      } catch {
        // There is nobody left to tell.
      }
    },
    get isJournal() {
      return leadsTo(STDERR, variable("JOURNAL_STREAM"));
    },
    get screen() {
      const terminal = bindTerminal(libc);
      if (!terminal.isTerminal(STDOUT)) return undefined;
      const columns = Number(variable("COLUMNS") ?? NaN);
      return {
        columns: Number.isSafeInteger(columns) && columns >= NARROWEST
          ? columns
          : terminal.findColumns(STDOUT) ?? 80,
        hasColour: variable("NO_COLOR") === undefined && variable("TERM") !== "dumb",
      };
    },
  };
}

function writeAll(descriptor: number, text: string, name: string): void {
  // A lone surrogate would become a replacement character silently; renderers escape them before this.
  let rest = new TextEncoder().encode(text);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(descriptor, rest));
    } catch (error) {
      const errno = errnoOf(error);
      if (errno === "EAGAIN") continue;
      if (errno === "EPIPE") throw new ClosedPipe();
      throw new GpuctlError("unavailable", `Cannot write to ${name}: ${messageOf(error)}`, { cause: error });
    }
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
