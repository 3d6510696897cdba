/** What the system says of a file, in the words and with the status that every command has for it. */
import { errnoOf, type Failure, GpuctlError, messageOf } from "./errors.ts";
import { printable } from "./text.ts";

/** Names of errno(3), as the state of a file. */
const STATES: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EBADF: "it is closed",
  EEXIST: "something else is there already",
  EISDIR: "it is a directory",
  ELOOP: "it is a symbolic link that may not be followed",
  ENAMETOOLONG: "its name is too long",
  ENOENT: "there is no such file",
  ENOSPC: "no space is left on the device",
  ENOTDIR: "its path leads through something that is no directory",
  ENXIO: "nothing reads from it",
  EPERM: "permission denied",
  EROFS: "the file system is read-only",
};
const STATES_OF_PLACES: Readonly<Record<string, string>> = {
  ...STATES,
  ENOENT: "there is no such directory",
};

/** What a system call's error says is the matter with a file: the sentence around it names the file. */
export function stateOf(error: unknown): string {
  return stateAmong(STATES, error);
}

/** The same of a file or directory that is to be made, or written: it need not be there, but its directory must. */
export function stateOfPlace(error: unknown): string {
  return stateAmong(STATES_OF_PLACES, error);
}

function stateAmong(states: Readonly<Record<string, string>>, error: unknown): string {
  const errno = errnoOf(error);
  const known = errno === undefined ? undefined : states[errno];
  // Neither the call nor the path of an unusual one.
  return known ?? messageOf(error).replace(/^(E[A-Z0-9]+): ([^,]+), .*$/s, "$2 ($1)");
}

/** Whether a file could not be used for want of permission, or for another reason. */
export function failureOf(error: unknown): Extract<Failure, "denied" | "unavailable"> {
  const errno = errnoOf(error);
  return errno === "EACCES" || errno === "EPERM" || errno === "EROFS" ? "denied" : "unavailable";
}

/** A file's name as a message has it: `the rules /etc/x.toml`. */
interface Naming {
  /** What the file is to gpuctl. */
  readonly as?: string;
  readonly hint?: string;
}

/** The failure to read a file. */
export function cannotRead(path: string, cause: unknown, { as, ...rest }: Naming = {}): GpuctlError {
  const what = [as, printable(path)].filter((word) => word !== undefined).join(" ");
  return new GpuctlError(failureOf(cause), `Cannot read ${what}: ${stateOf(cause)}`, { ...rest, cause });
}

/** The failure to write a file, or to make it. */
export function cannotWrite(path: string, cause: unknown): GpuctlError {
  const sentence = `Cannot write ${printable(path)}: ${stateOfPlace(cause)}`;
  return new GpuctlError(failureOf(cause), sentence, { cause });
}
