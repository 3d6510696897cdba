/** Whether this program sees the machine from inside a container. */
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { known, type Reading } from "../core/reading.ts";
import { findContainer } from "./container.ts";
import { readText } from "./files.ts";
import { judgeInitialPidNamespace, readPidNamespace } from "./namespaces.ts";

/** Files that runtimes put into a container: Docker's, Podman's, systemd's. */
const CONTAINER_MARKS = [".dockerenv", "run/.containerenv", "run/systemd/container"];

/**
 * Says whether this program runs in a container, or in a PID namespace that does not show the whole machine.
 *
 * @param root the root directory as this program sees it
 */
export function readIsContainer(root: string): Reading<boolean> {
  const isFirst = judgeInitialPidNamespace(readPidNamespace(join(root, "proc/self")));
  if (isFirst.ok && !isFirst.value) return known(true);
  if (CONTAINER_MARKS.some((mark) => existsSync(join(root, mark)))) return known(true);
  if (hasContainerGroup(root) || hasOtherRoot(root)) return known(true);
  return isFirst.ok ? known(false) : isFirst;
}

function hasContainerGroup(root: string): boolean {
  const groups = readText(join(root, "proc/self/cgroup"));
  return groups.ok && Array.from(
    groups.value.matchAll(/^\d+:[^:\n]*:\/(.*)$/gm),
    ([, path = ""]) => findContainer(path.split("/")),
  ).some((container) => container !== undefined);
}

/** A container with the machine's own PID namespace has its own files: its root is not that of process 1. */
function hasOtherRoot(root: string): boolean {
  try {
    const own = statSync(root);
    const first = statSync(join(root, "proc/1/root"));
    return own.dev !== first.dev || own.ino !== first.ino;
  } catch {
    return false; // Who may not ask is not told, and the other signs decide.
  }
}
