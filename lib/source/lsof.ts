/** `lsof` on the driver's device nodes: one line a descriptor or mapping, the node's path at its end. */
import { isPid } from "../core/ids.ts";
import { findListedNode, HolderLog } from "./listed_holder.ts";
import type { HolderListing } from "./fuser.ts";

const HEADER = /^COMMAND\s+PID\s+(?:TID\s+(?:TASKCMD\s+)?)?USER\s+FD\s+TYPE\s/;
/** Command, pid, with `-K` also thread and its name, user, descriptor or `mem`, type, and the rest with the path last. */
const ROW =
  /^(\S{1,64})\s+(\d{1,10})\s+(?:\d{1,10}\s+(?:\S{1,64}\s+)?)?(\S{1,64})\s+(mem|\d{1,7}[rwu]?[a-zA-Z]?)\s+CHR\s+\S.{0,200}?\s(\/dev\/nvidia[\w/-]{0,60})$/;

/** Whether a listing of lsof begins at this line. */
export function beginsLsof(lines: readonly string[], at: number): boolean {
  const line = (lines[at] ?? "").slice(0, 600);
  return HEADER.test(line) || ROW.test(line);
}

/** Reads a listing of lsof from this line to its end. Rows of other files are passed over. */
export function readLsof(lines: readonly string[], at: number): HolderListing {
  const log = new HolderLog();
  const unreadable: number[] = [];
  let line = at;
  for (; line < lines.length; line++) {
    const text = (lines[line] ?? "").slice(0, 600).trimEnd();
    if (text === "") break;
    if (HEADER.test(text)) continue;
    const [, command, digits, user, descriptor, path = ""] = ROW.exec(text) ?? [];
    const node = findListedNode(path);
    const pid = Number(digits);
    if (command !== undefined && user !== undefined && node && isPid(pid)) {
      const isMapped = descriptor === "mem";
      log.add({ pid, user, command }, { path, node, isOpen: !isMapped, isMapped });
    } else if (text.includes("/dev/nvidia")) unreadable.push(line);
    else if (!/^\S+\s+\d+\s/.test(text)) break;
  }
  return { holders: log.list(), unreadable, end: Math.max(line, at + 1) };
}
