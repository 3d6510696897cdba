/** The kernel's log of a simulated server, followed while its faults change. */
import { readFileSync } from "node:fs";
import { GpuctlError } from "../../core/errors.ts";
import { type Absent, absent, known, type Reading } from "../../core/reading.ts";
import type { XidEvent } from "../../model/reset_facts.ts";
import type { KernelLogFollower } from "../../world/ports.ts";
import { describeKernelLog } from "./reset_facts.ts";
import { descriptionPath, readSimServer } from "./server.ts";

/** Follows the log of the server in a directory from now on: lines that its faults did not have before are new. */
export function followSimLog(directory: string): KernelLogFollower {
  let description: string | undefined;
  let seen: readonly string[] = [];
  let denied: Absent | undefined;
  const readNew = (): Reading<readonly XidEvent[]> => {
    try {
      const text = readFileSync(descriptionPath(directory), "utf8");
      if (text === description) return denied ?? known([]);
      const { machine } = readSimServer(directory).faults;
      description = text;
      const log = describeKernelLog({ ...machine, xids: without(machine.xids, seen) });
      seen = machine.xids;
      denied = log.ok ? undefined : log;
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
