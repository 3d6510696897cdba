/**
 * Saved files as a source. This file reads bytes, says what kind of text they are, and reads our own snapshots; saved
 * nvidia-smi text is for `smi/`.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { errnoOf, GpuctlError, messageOf } from "../core/errors.ts";
import { printable } from "../core/text.ts";
import { type Bytes, bytes, formatBytes } from "../core/units.ts";
import { parseSnapshot } from "../model/decode.ts";
import type { Snapshot } from "../model/snapshot.ts";

/** Larger than any snapshot: one with 10,000 holders has about 10 MiB. */
export const MOST_FILE_BYTES: Bytes = bytes(64 * 1024 ** 2);

const STANDARD_INPUT = 0;
const CHUNK_BYTES = 64 * 1024;
/** How long to wait for a pipe that somebody has set not to block. */
const PIPE_PAUSE_MS = 5;

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
    text = new TextDecoder().decode(readBytes(path));
  } catch (error) {
    if (error instanceof GpuctlError) throw error;
    const code = errnoOf(error) ?? "";
    throw new GpuctlError(
      code === "EACCES" || code === "EPERM" ? "denied" : "unavailable",
      `Cannot read ${nameOf(path)}: ${ERRNO_WORDS[code] ?? messageOf(error)}`,
      { cause: error },
    );
  }
  if (text.trim() === "") throw new GpuctlError("unavailable", `Cannot read ${nameOf(path)}: it is empty`);
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
  try {
    return parseSnapshot(text);
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    const state = cause.message.replace(/^Cannot \w+ snapshot: /, "");
    throw new GpuctlError("unavailable", `Cannot read ${nameOf(path)} as a snapshot: ${state}`, { cause });
  }
}

const ERRNO_WORDS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  ENOTDIR: "there is no such file",
  EISDIR: "it is a directory",
  EACCES: "permission denied",
  EPERM: "permission denied",
};

function nameOf(path: string): string {
  return path === "-" ? "standard input" : printable(path);
}

function readBytes(path: string): Uint8Array {
  if (path === "-") return readDescriptor(STANDARD_INPUT, path);
  const descriptor = openSync(path, "r");
  try {
    return readDescriptor(descriptor, path);
  } finally {
    closeSync(descriptor);
  }
}

function readDescriptor(descriptor: number, path: string): Uint8Array {
  // A regular file tells its size before a byte is read; a pipe or a device has none to tell.
  if (fstatSync(descriptor).size > MOST_FILE_BYTES) throw tooLarge(path);
  const chunks: Uint8Array[] = [];
  let total = 0;
  for (let chunk = readChunk(descriptor); chunk.length > 0; chunk = readChunk(descriptor)) {
    chunks.push(chunk);
    total += chunk.length;
    if (total > MOST_FILE_BYTES) throw tooLarge(path);
  }
  const whole = new Uint8Array(total);
  let place = 0;
  for (const chunk of chunks) {
    whole.set(chunk, place);
    place += chunk.length;
  }
  return whole;
}

/** The next bytes; none at the end. */
function readChunk(descriptor: number): Uint8Array {
  const chunk = new Uint8Array(CHUNK_BYTES);
  while (true) {
    try {
      return chunk.subarray(0, readSync(descriptor, chunk));
    } catch (error) {
      if (errnoOf(error) !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PIPE_PAUSE_MS);
    }
  }
}

function tooLarge(path: string): GpuctlError {
  return new GpuctlError(
    "unavailable",
    `Cannot read ${nameOf(path)}: it is larger than ${formatBytes(MOST_FILE_BYTES)}`,
  );
}
