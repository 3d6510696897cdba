import { closeSync, constants, openSync } from "node:fs";
import { GpuctlError } from "../core/errors.ts";
import { stateOf } from "../core/file_errors.ts";
import type { TakeLock } from "../native/flock.ts";
import { makePrivateFolder, runtimePath, type User } from "./places.ts";
import type { Locks } from "./ports.ts";

/** Locks of the kernel's: one is free again the moment its holder ends, whatever happened to it. */
export function createLocks(user: User, takeLock: TakeLock): Locks {
  return {
    acquire(name, source) {
      const path = runtimePath(`${name}.lock`, source, user);
      makePrivateFolder(path, user);
      const descriptor = openLockFile(path);
      if (!takeLock(descriptor)) {
        closeSync(descriptor);
        return undefined;
      }
      return { [Symbol.dispose]: () => closeSync(descriptor) };
    },
  };
}

function openLockFile(path: string): number {
  try {
    return openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
  } catch (error) {
    throw new GpuctlError("refused", `Cannot lock ${path}: ${stateOf(error)}`, { cause: error });
  }
}
