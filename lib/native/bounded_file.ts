/** Files that somebody else names: devices, pipes and files of any size, read only as far as they are believed. */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { errnoOf } from "../core/errors.ts";
import { type Bytes, formatBytes, milliseconds } from "../core/units.ts";
import { sleep } from "./sleep.ts";

const CHUNK_BYTES = 64 * 1024;
/** How long to wait for a pipe that somebody has set not to block. */
const PIPE_PAUSE = milliseconds(5);

/** Thrown in place of bytes that are more than their reader takes. */
export class FileTooLarge extends Error {
  override readonly name = "FileTooLarge";

  constructor(most: Bytes) {
    super(`it is larger than ${formatBytes(most)}`);
  }
}

/**
 * Reads a whole file by its path, or what a descriptor has left.
 *
 * @throws {FileTooLarge} before more than `most` bytes are kept
 * @throws the system's error, with its code
 */
export function readBounded(file: string | number, most: Bytes): Uint8Array {
  if (typeof file === "number") return readDescriptor(file, most);
  const descriptor = openSync(file, "r");
  try {
    return readDescriptor(descriptor, most);
  } finally {
    closeSync(descriptor);
  }
}

function readDescriptor(descriptor: number, most: Bytes): Uint8Array {
  // A regular file tells its size before a byte is read; a pipe or a device has none to tell.
  if (fstatSync(descriptor).size > most) throw new FileTooLarge(most);
  const chunks: Uint8Array[] = [];
  let total = 0;
  for (let chunk = readChunk(descriptor); chunk.length > 0; chunk = readChunk(descriptor)) {
    chunks.push(chunk);
    total += chunk.length;
    if (total > most) throw new FileTooLarge(most);
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
      sleep(PIPE_PAUSE);
    }
  }
}
