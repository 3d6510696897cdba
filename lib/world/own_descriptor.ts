/** Paths that name a descriptor of this program. What stands there must be written on, never replaced. */
import { realpathSync } from "node:fs";
import { basename, dirname } from "node:path";
import process from "node:process";

const IN_DEV: Readonly<Record<string, number>> = { stdout: 1, stderr: 2 };

/** The descriptor that `/dev/stdout`, `/dev/fd/N` or `/proc/self/fd/N` stands for; `undefined` for any other path. */
export function findOwnDescriptor(path: string): number | undefined {
  const name = basename(path);
  const folder = findFolder(dirname(path));
  if (folder === "/dev") return Object.hasOwn(IN_DEV, name) ? IN_DEV[name] : undefined;
  return folder === `/proc/${process.pid}/fd` && /^\d+$/.test(name) ? Number(name) : undefined;
}

function findFolder(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    // A folder that cannot be found, for whatever reason, is not the one with our descriptors.
    return undefined;
  }
}
