import { closeSync, fchmodSync, fsyncSync, openSync, renameSync, rmSync, statSync, writeSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import process from "node:process";
import { cannotWrite } from "../core/file_errors.ts";
import { bytes } from "../core/units.ts";
import { readBounded } from "../native/bounded_file.ts";
import { findOwnDescriptor } from "./own_descriptor.ts";
import type { Files } from "./ports.ts";

const OWNER_ONLY = 0o600;
/** Larger than any settings; a notebook with its pictures may have this much. */
const MOST_TEXT_BYTES = bytes(64 * 1024 ** 2);
const WORLD_READABLE = 0o644;

/** The machine's file system. */
export const realFiles: Files = {
  readText: (path) => new TextDecoder().decode(readBounded(path, MOST_TEXT_BYTES)),
  writeWhole,
};

/**
 * Writes a new file beside the old one and puts it in its place: a reader sees the one or the other, never a half. A
 * symbolic link to a file is replaced, not followed; a device, a pipe or a descriptor of ours is written to.
 */
function writeWhole(path: string, text: string, options?: { readonly isWorldReadable: boolean }): void {
  const mode = options?.isWorldReadable ? WORLD_READABLE : OWNER_ONLY;
  const own = findOwnDescriptor(path);
  if (own !== undefined) attemptToWrite(path, () => writeText(own, text));
  else if (attemptToWrite(path, () => isStream(path))) {
    attemptToWrite(path, () => writeFile(path, text, { flags: "w", mode }));
  } else replaceFile(path, text, mode);
}

/**
 * Puts a new file in place of whatever stands there, be it a link or a device. A reader sees the one or the other.
 *
 * @throws {GpuctlError} if it cannot; then all is as it was
 */
export function replaceFile(path: string, text: string, mode: number): void {
  const temporary = join(dirname(path), `.${basename(path)}.${process.pid}`);
  attemptToWrite(path, () => {
    try {
      // wx: O_EXCL refuses whatever somebody put there before us.
      writeFile(temporary, text, { flags: "wx", mode });
      renameSync(temporary, path);
    } catch (error) {
      rmSync(temporary, { force: true });
      throw error;
    }
  });
}

/** Says of whatever the system refuses on the way which file was to be written. @throws {GpuctlError} */
export function attemptToWrite<T>(path: string, write: () => T): T {
  try {
    return write();
  } catch (error) {
    throw cannotWrite(path, error);
  }
}

interface FileKind {
  readonly flags: "w" | "wx";
  readonly mode: number;
}

function writeFile(path: string, text: string, { flags, mode }: FileKind): void {
  const descriptor = openSync(path, flags, mode);
  try {
    // What open(2) gives is narrowed by the umask.
    if (flags === "wx") fchmodSync(descriptor, mode);
    writeText(descriptor, text);
    if (flags === "wx") fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Writes all of a text. @throws the system's error */
export function writeText(descriptor: number, text: string): void {
  let rest = new TextEncoder().encode(text);
  while (rest.length > 0) rest = rest.subarray(writeSync(descriptor, rest));
}

/** A device, a pipe or a socket: replacing it with a file would break the machine. */
function isStream(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && !found.isFile() && !found.isDirectory();
}
