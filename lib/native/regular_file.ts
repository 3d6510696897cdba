/**
 * Files in folders of other users: read only if they are regular files, and only so far. A device is never opened, which
 * may act by that alone, and a pipe never waited for: what the path leads to is first held without being opened.
 */
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import type { Bytes } from "../core/units.ts";
import { FileTooLarge } from "./bounded_file.ts";

/** O_PATH of open(2), asm-generic/fcntl.h: the same on every processor that gpuctl runs on. */
const O_PATH = 0o10000000;

/** Thrown in place of what a device, a pipe or a folder would give. */
export class NoRegularFile extends Error {
  override readonly name = "NoRegularFile";
}

/**
 * Reads a regular file as UTF-8; bytes that are none become U+FFFD. Symbolic links are followed. What waits for a file system
 * that does not answer waits beside the rest of the program.
 *
 * @throws {NoRegularFile} if it is something else
 * @throws {FileTooLarge} if it has more than `most` bytes
 * @throws the system's error, with its code
 */
export async function readRegularFile(path: string, most: Bytes): Promise<string> {
  const held = await open(path, O_PATH);
  try {
    if (!(await held.stat()).isFile()) throw new NoRegularFile("it is no regular file");
    const file = await open(`/proc/self/fd/${held.fd}`, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const bytes = new Uint8Array(most + 1);
      let length = 0;
      for (;;) {
        const { bytesRead } = await file.read(bytes, length, bytes.length - length, length);
        length += bytesRead;
        if (length > most) throw new FileTooLarge(most);
        if (bytesRead === 0) return new TextDecoder().decode(bytes.subarray(0, length));
      }
    } finally {
      await file.close();
    }
  } finally {
    await held.close();
  }
}
