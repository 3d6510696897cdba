/** The names in folders of other users, of which one may have any number. */
import { opendir } from "node:fs/promises";
import { errnoOf, messageOf } from "../core/errors.ts";
import { absent, known, type Reading } from "../core/reading.ts";
import { isDenied } from "../proc/files.ts";

/** More than any directory of packages has. */
const MOST_NAMES = 100_000;

/** The names in a folder; `undefined` where there is no such folder. */
export async function findNames(path: string): Promise<Reading<readonly string[]> | undefined> {
  const names: string[] = [];
  try {
    for await (const { name } of await opendir(path)) {
      names.push(name);
      if (names.length > MOST_NAMES) {
        return absent("implausible", `${path} has more than ${MOST_NAMES} entries`);
      }
    }
    return known(names);
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes(errnoOf(error) ?? "")) return undefined;
    return absent(isDenied(error) ? "no-permission" : "failed", messageOf(error));
  }
}
