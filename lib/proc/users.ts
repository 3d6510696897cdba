import { type Uid, uid } from "../core/ids.ts";
import { absent, known, type Reading } from "../core/reading.ts";
import { readText } from "./files.ts";

/** Gives a user's name; absent where the machine's own list does not have it. */
export type UserNames = (id: Uid) => Reading<string>;

/** Reads the machine's own list of users, once. Users of a directory service are not on it. */
export function readUserNames(path = "/etc/passwd"): UserNames {
  const text = readText(path);
  const names = text.ok ? parsePasswd(text.value) : new Map<Uid, string>();
  return (id) => {
    const name = names.get(id);
    return name === undefined ? absent("not-reported", `user ${id} is not in ${path}`) : known(name);
  };
}

/** Parses the text of passwd(5). Of two names for one user the first counts, as for getpwuid(3); other lines are passed over. */
export function parsePasswd(text: string): ReadonlyMap<Uid, string> {
  const names = new Map<Uid, string>();
  for (const line of text.split("\n")) {
    const [, name, number] = /^([^:+-][^:]*):[^:]*:(\d{1,10}):/.exec(line) ?? [];
    if (name === undefined || Number(number) > 0xffff_ffff) continue;
    const id = uid(Number(number));
    if (!names.has(id)) names.set(id, name);
  }
  return names;
}
