import { closeSync, constants, fstatSync, fsyncSync, openSync, readSync, writeSync } from "node:fs";
import { GpuctlError } from "../core/errors.ts";
import { stateOf } from "../core/file_errors.ts";
import { absent, known } from "../core/reading.ts";
import { bytes } from "../core/units.ts";
import { readBounded } from "../native/bounded_file.ts";
import { renderJsonLine } from "../render/json.ts";
import { makePrivateFolder, type User } from "./places.ts";
import type { AuditLog } from "./ports.ts";

const { O_RDONLY, O_WRONLY, O_CREAT, O_APPEND, O_NOFOLLOW, O_NONBLOCK } = constants;
/** Without O_NONBLOCK a pipe that nobody reads would keep us waiting for ever (open(2)). */
const FLAGS = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK;

const NEWLINE = "\n".charCodeAt(0);
/** Years of acts. Of a longer record nothing is known. */
const MOST_BYTES = bytes(64 * 1024 ** 2);

/** A file of JSON lines that only grows. Each record is one write, so that records of two programs never mix. */
export function openAuditFile(path: string, user: User): AuditLog {
  return {
    path,
    read() {
      try {
        return known(readRecord(path, (descriptor) => {
          refuseForeign(descriptor, user);
          return new TextDecoder().decode(readBounded(descriptor, MOST_BYTES));
        }));
      } catch (error) {
        return absent("failed", stateOf(error));
      }
    },
    append(record) {
      try {
        makePrivateFolder(path, user);
        const descriptor = openSync(path, FLAGS, 0o600);
        try {
          refuseForeign(descriptor, user);
          const line = new TextEncoder().encode(`${startOf(path)}${renderJsonLine(record)}`);
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

/** What has to stand in front of a new line: a disk that was full has cut the last one short. */
function startOf(path: string): "" | "\n" {
  try {
    return readRecord(path, (descriptor) => {
      const { size } = fstatSync(descriptor);
      const last = new Uint8Array(1);
      return size > 0 && readSync(descriptor, last, 0, 1, size - 1) === 1 && last[0] !== NEWLINE ? "\n" : "";
    });
  } catch {
    return ""; // A pipe to a collector: what was cut short there is the collector's.
  }
}

/** Reads of a file. @throws {Error} if it is none: a pipe or a terminal holds no record, and could keep us waiting for one */
function readRecord<T>(path: string, read: (descriptor: number) => T): T {
  const descriptor = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    if (!fstatSync(descriptor).isFile()) throw new Error(`${path} is no file`);
    return read(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Whoever owns a record can forge and erase it. @throws {Error} for somebody else's */
function refuseForeign(descriptor: number, user: User): void {
  const { uid } = fstatSync(descriptor);
  if (uid !== user.uid && uid !== 0) throw new Error("it belongs to somebody else");
}
