import { closeSync, constants, fsyncSync, openSync, writeSync } from "node:fs";
import { GpuctlError, stateOf } from "../core/errors.ts";
import { makePrivateFolder, type User } from "./places.ts";
import type { AuditLog } from "./ports.ts";

/** A file of JSON lines that only grows. Each record is one write, so that records of two programs never mix. */
export function openAuditFile(path: string, user: User): AuditLog {
  return {
    path,
    append(record) {
      const line = new TextEncoder().encode(`${JSON.stringify(record)}\n`);
      try {
        makePrivateFolder(path, user);
        const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW;
        const descriptor = openSync(path, flags, 0o600);
        try {
          const written = writeSync(descriptor, line);
          if (written !== line.length) throw new Error(`${written} of ${line.length} bytes were written`);
          fsyncSync(descriptor);
        } finally {
          closeSync(descriptor);
        }
      } catch (error) {
        throw new GpuctlError("refused", `Cannot record in ${path}: ${stateOf(error)}`, {
          cause: error,
          hint: "nothing is ended that cannot be recorded; --audit-log names another file",
        });
      }
    },
  };
}
