import { readlinkSync } from "node:fs";
import { errnoOf } from "../core/errors.ts";
import { isPid } from "../core/ids.ts";
import { absent, known, type Reading } from "../core/reading.ts";
import type { Stdio } from "../model/process.ts";
import type { DescriptorReader } from "../native/descriptor_reader.ts";
import { ERRNO } from "../native/libc.ts";
import type { PidfdCalls } from "../native/pidfd.ts";
import { absentFor } from "./files.ts";

const STANDARD_OUTPUT = 1;

export interface StdioCalls {
  readonly reader: Pick<DescriptorReader, "findKind">;
  readonly pidfd: PidfdCalls;
  readonly procRoot: string;
}

/**
 * Reads where the first three descriptors lead.
 *
 * @param directory the process's own, or that of a live thread of it, below `procRoot`: `812` or `812/task/815`
 */
export function readStdio(directory: string, calls: StdioCalls): Reading<Stdio> {
  const link = `${calls.procRoot}/${directory}/fd`;
  try {
    const output = targetOf(`${link}/1`);
    return known({
      input: targetOf(`${link}/0`),
      output,
      error: targetOf(`${link}/2`),
      isOutputBroken: readIsBroken(directory, output, calls),
    });
  } catch (error) {
    return absentFor(error);
  }
}

/** A link that is not there is a descriptor that is closed: that the process lives is checked by who asks. */
function targetOf(link: string): string {
  try {
    return readlinkSync(link);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return "closed";
    throw error;
  }
}

/**
 * Whether anybody can still read what it writes. Opening a pipe through /proc would make us one of its ends, so the
 * descriptor itself is copied for a moment and asked: poll(2) reports an error on a pipe without readers.
 */
function readIsBroken(
  directory: string,
  output: string,
  { reader, pidfd }: StdioCalls,
): Reading<boolean> {
  if (output === "closed") return known(false);
  const kind = reader.findKind(`${directory}/fd/${STANDARD_OUTPUT}`);
  if (kind === undefined) return absent("not-reported", "its standard output does not answer");
  if (kind !== "pipe") return known(false);
  const pid = Number(directory);
  if (!isPid(pid)) return absent("not-supported", "a dead main thread has no descriptors to copy");
  const process = pidfd.open(pid);
  if (process === undefined) return absent("exited");
  const copy = pidfd.copyDescriptor(process, STANDARD_OUTPUT);
  pidfd.close(process);
  if (copy < 0) return absentForCopy(-copy);
  const isBroken = pidfd.isBrokenPipe(copy);
  pidfd.close(copy);
  return known(isBroken);
}

function absentForCopy(errno: number): Reading<boolean> {
  if (errno === ERRNO.EPERM) return absent("no-permission", "pidfd_getfd(2)");
  if (errno === ERRNO.ENOSYS) return absent("not-supported", "this kernel has no pidfd_getfd(2)");
  return absent("failed", `pidfd_getfd(2) failed with errno ${errno}`);
}
