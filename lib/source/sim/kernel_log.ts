/** The kernel's log of a simulated server, followed while its faults change. */
import { statSync } from "node:fs";
import { GpuctlError } from "../../core/errors.ts";
import { absent, known, type Reading } from "../../core/reading.ts";
import type { XidEvent } from "../../model/reset_facts.ts";
import type { KernelLogFollower } from "../../world/ports.ts";
import { describeKernelLog } from "./reset_facts.ts";
import { descriptionPath, readSimServer } from "./server.ts";

/** Follows the log of the server in a directory from now on: lines that its faults did not have before are new. */
export function followSimLog(directory: string): KernelLogFollower {
  let stamp: number | undefined;
  let seen: readonly string[] = [];
  const readNew = (): Reading<readonly XidEvent[]> => {
    try {
      const { mtimeMs } = statSync(descriptionPath(directory));
      if (mtimeMs === stamp) return known([]);
      const { machine } = readSimServer(directory).faults;
      stamp = mtimeMs;
      const fresh = without(machine.xids, seen);
      seen = machine.xids;
      const log = describeKernelLog({ ...machine, xids: fresh });
      return log.ok ? known(log.value.xids) : log;
    } catch (error) {
      // The server may be removed at any time: then it logs nothing.
      return absent("failed", error instanceof GpuctlError ? error.message : "the server cannot be read");
    }
  };
  readNew();
  return { readNew, [Symbol.dispose]: () => {} };
}

/** Each line that is there more often than before. */
function without(lines: readonly string[], before: readonly string[]): string[] {
  const rest = [...before];
  return lines.filter((line) => {
    const place = rest.indexOf(line);
    if (place >= 0) rest.splice(place, 1);
    return place < 0;
  });
}
