/** The children of this process, as the kernel keeps them: the one list in which an orphan is never missing. */
import { readdirSync } from "node:fs";
import { valueOf } from "../core/reading.ts";
import { readText } from "./files.ts";

/**
 * Lists the children of this process, those that have ended and wait to be reaped among them (proc_tid_children(5)). A
 * child that comes while the list is read stands at its end, so the list is whole as long as nobody is reaped meanwhile.
 *
 * @returns `undefined` where the kernel keeps no such list (CONFIG_PROC_CHILDREN).
 */
export function findOwnChildren(): readonly number[] | undefined {
  const children: number[] = [];
  for (const task of readdirSync("/proc/self/task")) {
    const text = readText(`/proc/self/task/${task}/children`);
    // A thread that has just ended has passed its children on to another one.
    if (!text.ok && readText(`/proc/self/task/${task}/stat`).ok) return undefined;
    children.push(...(valueOf(text) ?? "").split(" ").filter((word) => word !== "").map(Number));
  }
  return children;
}
