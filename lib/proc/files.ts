/** Reading the kernel's files. Every one may fail at any time: a process that vanishes is an answer, not an error. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { errnoOf, messageOf } from "../core/errors.ts";
import { isPid, type Pid } from "../core/ids.ts";
import { type Absent, absent, known, type Reading } from "../core/reading.ts";

/** Says whether the system's error means that the process has ended: before the file was opened, or while it was read. */
export function isGone(error: unknown): boolean {
  const errno = errnoOf(error);
  return errno === "ENOENT" || errno === "ESRCH";
}

/** Says whether the system's error means that this reader may not. */
export function isDenied(error: unknown): boolean {
  const errno = errnoOf(error);
  return errno === "EACCES" || errno === "EPERM";
}

/** Says why a process's file could not be read. */
export function absentFor(error: unknown): Absent {
  if (isGone(error)) return absent("exited");
  return absent(isDenied(error) ? "no-permission" : "failed", messageOf(error));
}

/** Reads a file of a process as UTF-8; bytes that are not become U+FFFD. */
export function readText(path: string): Reading<string> {
  try {
    return known(readFileSync(path, "utf8"));
  } catch (error) {
    return absentFor(error);
  }
}

/** Reads where a link of a process leads. */
export function readLink(path: string): Reading<string> {
  try {
    return known(readlinkSync(path));
  } catch (error) {
    return absentFor(error);
  }
}

/** Lists every process that shows, in the order of the pids. */
export function listPids(procRoot: string): Pid[] {
  return readdirSync(procRoot).map(Number).filter(isPid).sort((a, b) => a - b);
}
