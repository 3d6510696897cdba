/** Places for reports and recordings, tried before the work whose outcome goes there. */
import { closeSync, constants, openSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import process from "node:process";
import { attemptToWrite, writeText } from "./files.ts";
import { findOwnDescriptor } from "./own_descriptor.ts";
import type { LineFile, OutputFiles } from "./ports.ts";

const OWNER_ONLY = 0o600;

/** The machine's file system, as a place for what is written later. */
export const realOutputFiles: OutputFiles = { checkPlace, openLines };

function checkPlace(path: string): void {
  if (findOwnDescriptor(path) !== undefined) return;
  attemptToWrite(path, () => {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory()) throw new Error("it is a directory");
    // A pipe that nobody reads yet would keep us waiting; a device takes what it gets.
    if (found && !found.isFile()) return;
    // A file is replaced as a whole, so its folder is what has to be writable.
    const trial = join(dirname(path), `.${basename(path)}.${process.pid}.trial`);
    closeSync(openSync(trial, "wx", OWNER_ONLY));
    rmSync(trial);
  });
}

/** The file is new, so that a recording never goes through a link that somebody has put there. */
function openLines(path: string): LineFile {
  const own = findOwnDescriptor(path);
  const descriptor = own ?? attemptToWrite(path, () => {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found && !found.isFile()) return openSync(path, constants.O_WRONLY);
    rmSync(path, { force: true });
    return openSync(path, "wx", OWNER_ONLY);
  });
  return {
    append(line) {
      attemptToWrite(path, () => writeText(descriptor, `${line}\n`));
    },
    [Symbol.dispose]() {
      if (own === undefined) closeSync(descriptor);
    },
  };
}
