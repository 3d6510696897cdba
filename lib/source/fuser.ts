/** `fuser -v` on the driver's device nodes: one line a process and node, the node named on its first line only. */
import { isPid } from "../core/ids.ts";
import type { ListedHolder } from "../model/listed_holder.ts";
import { CUT_VALUE } from "./smi/clean.ts";
import { findListedNode, HolderLog } from "./listed_holder.ts";

/** Where a listing ends, whom it names, and the lines that could not be read (numbers count from 0). */
export interface HolderListing {
  readonly holders: readonly ListedHolder[];
  readonly unreadable: readonly number[];
  readonly end: number;
}

const HEADER = /^\s*USER\s+PID\s+ACCESS\s+COMMAND\s*$/;
const NODE = /^(\/dev\/[\w/.-]{1,80}):\s*/;
/** Access letters of fuser(1): `F` and `f` an open file, `m` mapped; `c`, `e` and `r` cannot be of a device. */
const ROW = /^(?:(\S{1,64})\s+)?(\d{1,10})\s+([cefFrm.]{1,8})\s+(\S.{0,200})$/;
/** Without `-v` only pids with their letters stand behind the node. */
const BRIEF_WORD = /^(\d{1,10})([cefFrm]{0,6})$/;

/** Whether a listing of fuser begins at this line. */
export function beginsFuser(lines: readonly string[], at: number): boolean {
  const line = lines[at] ?? "";
  if (HEADER.test(line.slice(0, 200))) return true;
  const path = NODE.exec(line)?.[1];
  return path !== undefined && findListedNode(path) !== undefined && line.length < 4096;
}

/** Reads a listing of fuser from this line to its end. */
export function readFuser(lines: readonly string[], at: number): HolderListing {
  const log = new HolderLog();
  const unreadable: number[] = [];
  let path = "";
  let line = at;
  for (; line < lines.length; line++) {
    const text = (lines[line] ?? "").slice(0, 4096);
    if (HEADER.test(text)) continue;
    const [head, named] = NODE.exec(text) ?? [];
    if (named !== undefined) path = named;
    const rest = text.slice(head?.length ?? 0).trim();
    const node = findListedNode(path);
    if (rest === "" && named === undefined) break;
    if (rest === "") continue;
    if (named === undefined && !/^\s/.test(text)) break;
    if (!node || !addRow(log, rest, { path, node })) unreadable.push(line);
  }
  return { holders: log.list(), unreadable, end: Math.max(line, at + 1) };
}

type Place = Pick<ListedHolder["uses"][number], "path" | "node">;

function addRow(log: HolderLog, rest: string, place: Place): boolean {
  const [, user, digits, access = "", command] = ROW.exec(rest) ?? [];
  if (digits !== undefined && command !== undefined) {
    const pid = Number(digits);
    if (!isPid(pid)) return false;
    const isCut = command.endsWith(CUT_VALUE);
    const who = { pid, ...(user === undefined ? {} : { user }), ...(isCut ? {} : { command }) };
    log.add(who, { ...place, ...usesOf(access) });
    return true;
  }
  const words = rest.split(/\s+/).map((word) => BRIEF_WORD.exec(word));
  if (words.includes(null)) return false;
  for (const word of words) {
    const pid = Number(word?.[1]);
    if (!isPid(pid)) return false;
    log.add({ pid }, { ...place, isOpen: true, isMapped: word?.[2]?.includes("m") === true });
  }
  return true;
}

function usesOf(access: string): { isOpen: boolean; isMapped: boolean } {
  return { isOpen: /[fF]/.test(access), isMapped: access.includes("m") };
}
