/** What this program was started with beside its first three descriptors: a pipe of the shell's `<(...)`, a jobserver. */
import { readdirSync, readlinkSync } from "node:fs";

/**
 * Lists them. Must come before anything else is opened: Bun marks them to be closed in every program it starts, exactly
 * as its own, which at that moment are all anonymous inodes. Deno leaves them open, and needs no help.
 */
export function listGivenDescriptors(): number[] {
  if ("Deno" in globalThis) return [];
  return readdirSync("/proc/self/fd").map(Number).filter((descriptor) =>
    descriptor > 2 && isGiven(`/proc/self/fd/${descriptor}`)
  );
}

function isGiven(link: string): boolean {
  try {
    return !readlinkSync(link).startsWith("anon_inode:");
  } catch {
    return false; // The one that listed the folder is closed by now.
  }
}
