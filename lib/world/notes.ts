import { closeSync, constants, openSync, readFileSync } from "node:fs";
import { errnoOf } from "../core/errors.ts";
import { cannotRead } from "../core/file_errors.ts";
import { realFiles } from "./files.ts";
import { makePrivateFolder, runtimePath, type User } from "./places.ts";
import type { Notes } from "./ports.ts";

/** Notes in this user's runtime folder. */
export function createNotes(user: User): Notes {
  return {
    read(name, source) {
      const path = runtimePath(`${name}.json`, source, user);
      try {
        const descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
        try {
          return readFileSync(descriptor, "utf8");
        } finally {
          closeSync(descriptor);
        }
      } catch (error) {
        if (errnoOf(error) === "ENOENT") return undefined;
        throw cannotRead(path, error);
      }
    },
    write(name, source, text) {
      const path = runtimePath(`${name}.json`, source, user);
      makePrivateFolder(path, user);
      realFiles.writeWhole(path, text);
    },
  };
}
