import { absent, known, type Reading } from "../core/reading.ts";

/**
 * Parses the text of /proc/PID/cmdline. A process that has given itself a title (setproctitle) shows that in place of its
 * arguments, padded with NULs, so empty arguments at the end are dropped.
 */
export function parseCmdline(text: string): Reading<readonly string[]> {
  const end = text.length - (/\0*$/.exec(text)?.[0].length ?? 0);
  if (end > 0) return known(text.slice(0, end).split("\0"));
  // Kernel threads have none. A program cannot be started without a name, only wipe it.
  return text === "" ? known([]) : absent("erased");
}
