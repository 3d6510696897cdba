/**
 * Saved files as a source. This file reads bytes, says what kind of text they are, and reads our own snapshots; saved
 * nvidia-smi text is for `smi/`.
 */
import { GpuctlError } from "../core/errors.ts";
import { cannotRead } from "../core/file_errors.ts";
import { printable } from "../core/text.ts";
import { type Bytes, bytes } from "../core/units.ts";
import { parseSnapshot } from "../model/decode.ts";
import type { Snapshot } from "../model/snapshot.ts";
import { readBounded } from "../native/bounded_file.ts";

/** Larger than any snapshot: one with 10,000 holders has about 10 MiB. */
export const MOST_FILE_BYTES: Bytes = bytes(64 * 1024 ** 2);

/** Objects and lists in a text. A snapshot with 10,000 holders has 150,000; each costs far more memory than its bracket. */
const MOST_BRACKETS = 2_000_000;
const STANDARD_INPUT = 0;

/**
 * Reads a snapshot that gpuctl wrote, from a file or, for `-`, from standard input.
 *
 * @throws {GpuctlError} if it cannot be read, is too large, or is not a snapshot.
 */
export function readSnapshotFile(path: string): Snapshot {
  return toSnapshot(readFileText(path), path);
}

/**
 * Reads the text of a saved file of any kind, or of standard input for `-`. A byte that is not UTF-8 becomes U+FFFD, as
 * programs may have such names.
 *
 * @throws {GpuctlError} if it cannot be read, is empty, or is larger than `MOST_FILE_BYTES`.
 */
export function readFileText(path: string): string {
  let text: string;
  try {
    text = new TextDecoder().decode(readBounded(path === "-" ? STANDARD_INPUT : path, MOST_FILE_BYTES));
  } catch (error) {
    throw cannotRead(nameOfFile(path), error);
  }
  if (text.trim() === "") {
    throw new GpuctlError("unavailable", `Cannot read ${nameOfFile(path)}: it is empty`);
  }
  return text;
}

/** Says whether a saved text is JSON, which of the texts that gpuctl reads only its own snapshots are. */
export function isSnapshotText(text: string): boolean {
  return /^\s*\{/.test(text);
}

/**
 * Builds the snapshot that a saved text holds; `path` is for the message alone.
 *
 * @throws {GpuctlError} if it is not a snapshot.
 */
export function toSnapshot(text: string, path: string): Snapshot {
  if (countBrackets(text) > MOST_BRACKETS) {
    throw new GpuctlError(
      "unavailable",
      `Cannot read ${nameOfFile(path)} as a snapshot: it has more objects and lists than any`,
    );
  }
  try {
    return parseSnapshot(text);
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    const state = cause.message.replace(/^Cannot \w+ snapshot: /, "");
    throw new GpuctlError("unavailable", `Cannot read ${nameOfFile(path)} as a snapshot: ${state}`, {
      cause,
    });
  }
}

function countBrackets(text: string): number {
  let count = 0;
  for (const bracket of ["{", "["]) {
    for (
      let at = text.indexOf(bracket);
      at !== -1 && count <= MOST_BRACKETS;
      at = text.indexOf(bracket, at + 1)
    ) {
      count++;
    }
  }
  return count;
}

/** What messages call the file at a path. */
export function nameOfFile(path: string): string {
  return path === "-" ? "standard input" : printable(path);
}
