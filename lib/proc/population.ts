/** Everybody on the machine, one by one and whether or not a GPU is in play. */
import { readdirSync } from "node:fs";
import { isPid } from "../core/ids.ts";
import { mapReading } from "../core/reading.ts";
import { milliseconds } from "../core/units.ts";
import { openDescriptorReader } from "../native/descriptor_reader.ts";
import type { Libc } from "../native/libc.ts";
import { bindPidfd } from "../native/pidfd.ts";
import type { Clock, Population } from "../world/ports.ts";
import { readText } from "./files.ts";
import { parseGroups } from "./groups.ts";
import { readProcess } from "./process.ts";
import { parsePasswd, readUserNames } from "./users.ts";

/** What a process whose memory is locked by somebody is waited for: between two looks there is no time for more. */
const PATIENCE = milliseconds(50);
const USERS = "/etc/passwd";
const GROUPS = "/etc/group";

/** Opens the population of this machine. */
export function openPopulation(
  libc: Libc,
  { clock, procRoot = "/proc" }: { readonly clock: Pick<Clock, "pause">; readonly procRoot?: string },
): Population {
  const reader = openDescriptorReader(libc, procRoot);
  const calls = { reader, pidfd: bindPidfd(libc), procRoot, users: readUserNames(USERS) };
  return {
    listPids: () => readdirSync(procRoot).map(Number).filter(isPid),
    async readProcess(pid) {
      const late = () => clock.pause(PATIENCE);
      return (await readProcess(pid, { calls, recogniser: undefined, late }))?.process;
    },
    readUsers: () => mapReading(readText(USERS), parsePasswd),
    readGroups() {
      const [passwd, group] = [readText(USERS), readText(GROUPS)];
      if (!passwd.ok) return passwd;
      return mapReading(group, (text) => parseGroups({ group: text, passwd: passwd.value }));
    },
    [Symbol.dispose]: () => reader[Symbol.dispose](),
  };
}
