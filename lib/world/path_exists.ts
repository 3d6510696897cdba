/** Whether something lies at a path: asked beside the rest of the program, as a network's file system may never answer. */
import { access } from "node:fs/promises";

/** Says whether a path leads to something that this user may know of. */
export async function pathExists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch {
    return false; // Not there, or not to be seen: either way it is of no use here.
  }
}
