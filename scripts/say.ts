import { writeSync } from "node:fs";

/** Prints a line to standard output. */
export function say(line: string): void {
  writeAll(1, `${line}\n`);
}

/** Prints a line to standard error. */
export function warn(line: string): void {
  writeAll(2, `${line}\n`);
}

/** One call may take a part only, as when a pipe is full. */
function writeAll(descriptor: number, text: string): void {
  let rest = new TextEncoder().encode(text);
  while (rest.length > 0) rest = rest.subarray(writeSync(descriptor, rest));
}
