/**
 * Writing with the system call itself: the runtimes' stream objects cost 16 ms at first touch and lose the end of piped
 * output when the program exits.
 */
import { writeSync } from "node:fs";
import { ClosedPipe, errnoOf, GpuctlError } from "../core/errors.ts";
import { stateOf } from "../core/file_errors.ts";
import { milliseconds } from "../core/units.ts";
import { sleep } from "../native/sleep.ts";

/** The first two output descriptors and their names. */
export const STDOUT = { descriptor: 1, name: "standard output" } as const;
export const STDERR = { descriptor: 2, name: "standard error" } as const;

const FULL_PAUSE = milliseconds(1);

/**
 * Writes all of a text.
 *
 * @throws {ClosedPipe} if nobody reads any more
 * @throws {GpuctlError} if it cannot be written: a full disk, a closed descriptor
 */
export function writeAll({ descriptor, name }: typeof STDOUT | typeof STDERR, text: string): void {
  let rest = new TextEncoder().encode(text);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(descriptor, rest));
    } catch (error) {
      const errno = errnoOf(error);
      if (errno === "EAGAIN") {
        // Whoever reads a pipe that does not block has not kept up.
        sleep(FULL_PAUSE);
        continue;
      }
      if (errno === "EPIPE") throw new ClosedPipe();
      throw new GpuctlError("unavailable", `Cannot write to ${name}: ${stateOf(error)}`, { cause: error });
    }
  }
}
