import { closeSync, constants, fstatSync, fsyncSync, openSync, writeSync } from "node:fs";
import { GpuctlError, stateOf } from "../core/errors.ts";
import { renderJsonLine } from "../render/json.ts";
import { makePrivateFolder, type User } from "./places.ts";
import type { AuditLog } from "./ports.ts";

const { O_WRONLY, O_CREAT, O_APPEND, O_NOFOLLOW, O_NONBLOCK } = constants;
/** Without O_NONBLOCK a pipe that nobody reads would keep us waiting for ever (open(2)). */
const FLAGS = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK;

/** A file of JSON lines that only grows. Each record is one write, so that records of two programs never mix. */
export function openAuditFile(path: string, user: User): AuditLog {
  return {
    path,
    append(record) {
      const line = new TextEncoder().encode(renderJsonLine(record));
      try {
        makePrivateFolder(path, user);
        const descriptor = openSync(path, FLAGS, 0o600);
        try {
          // Whoever owns a record can forge and erase it.
          const { uid } = fstatSync(descriptor);
          if (uid !== user.uid && uid !== 0) throw new Error("it belongs to somebody else");
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
