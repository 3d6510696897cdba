import {
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import process from "node:process";
import { errnoOf, type Failure, GpuctlError, messageOf } from "../core/errors.ts";
import type { Files } from "./ports.ts";

const OWNER_ONLY = 0o600;

/** The machine's file system. */
export const realFiles: Files = {
  readText: (path) => readFileSync(path, "utf8"),
  writeWhole,
};

/**
 * Writes a new file beside the old one and puts it in its place: a reader sees the one or the other, never a half. A
 * symbolic link to a file is replaced, not followed; a device or a pipe is written to.
 */
function writeWhole(path: string, text: string): void {
  try {
    if (isStream(path)) writeFile(path, text, "w");
    else replaceFile(path, text);
  } catch (error) {
    throw new GpuctlError(failureOf(error), `Cannot write ${path}: ${messageOf(error)}`, { cause: error });
  }
}

function replaceFile(path: string, text: string): void {
  const temporary = join(dirname(path), `.${basename(path)}.${process.pid}`);
  try {
    // wx: O_EXCL refuses whatever somebody put there before us.
    writeFile(temporary, text, "wx");
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

function writeFile(path: string, text: string, flags: "w" | "wx"): void {
  const descriptor = openSync(path, flags, OWNER_ONLY);
  try {
    let rest = new TextEncoder().encode(text);
    while (rest.length > 0) rest = rest.subarray(writeSync(descriptor, rest));
    if (flags === "wx") fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** A device, a pipe or a socket: replacing it with a file would break the machine. */
function isStream(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && !found.isFile() && !found.isDirectory();
}

function failureOf(error: unknown): Failure {
  const errno = errnoOf(error);
  return errno === "EACCES" || errno === "EPERM" || errno === "EROFS" ? "denied" : "unavailable";
}
