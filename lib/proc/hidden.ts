/** Whether this /proc shows all processes. A mount option (hidepid of proc(5)) may leave those of other users out. */
import { existsSync } from "node:fs";
import { type Absent, absent } from "../core/reading.ts";
import type { Reader } from "../model/observation.ts";
import { readText } from "./files.ts";

/** Values of hidepid with which other users' processes do not show: 2, and what newer kernels call it. */
const INVISIBLE = ["2", "invisible"];
/** Those with which a process shows to whoever may trace it, and to no group. */
const PTRACEABLE = ["4", "ptraceable"];

/** What /proc/self/mountinfo says of one mount of proc. */
export interface ProcMount {
  readonly hidepid: string | undefined;
  /** Members of this group are shown everything; root's unless the option names another. */
  readonly group: number;
}

/** Says why processes are missing from this /proc; `undefined` where all of them show. */
export function findHiding(procRoot: string, reader: Reader): Absent | undefined {
  const mounts = readText("/proc/self/mountinfo");
  const mount = mounts.ok ? findProcMount(mounts.value, procRoot) : undefined;
  if (mount?.hidepid === undefined || ![...INVISIBLE, ...PTRACEABLE].includes(mount.hidepid)) {
    return undefined;
  }
  // Process 1 is always there. Without the right to trace it, root does not see it either.
  const seesAll = reader.isRoot
    ? existsSync(`${procRoot}/1`)
    : INVISIBLE.includes(mount.hidepid) && listOwnGroups().includes(mount.group);
  if (seesAll) return undefined;
  return absent("hidden", `${procRoot} is mounted with hidepid=${mount.hidepid}`);
}

/** Finds the mount at a place in the text of /proc/PID/mountinfo (proc_pid_mountinfo(5)); of several the last is on top. */
export function findProcMount(text: string, place: string): ProcMount | undefined {
  const line = text.split("\n").findLast((line) => {
    const [before = "", after = ""] = line.split(" - ");
    return before.split(" ")[4] === place && after.startsWith("proc ");
  });
  if (line === undefined) return undefined;
  return {
    hidepid: /[ ,]hidepid=(\w+)/.exec(line)?.[1],
    group: Number(/[ ,]gid=(\d+)/.exec(line)?.[1] ?? 0),
  };
}

/** The groups of this program: its file system group, which follows the effective one, and the further ones. */
function listOwnGroups(): number[] {
  const status = readText("/proc/self/status");
  const text = status.ok ? status.value : "";
  const [, own] = /^Gid:(?:\t\d+){3}\t(\d+)$/m.exec(text) ?? [];
  const [, further = ""] = /^Groups:\t(.*)$/m.exec(text) ?? [];
  return [...own === undefined ? [] : [own], ...further.split(" ").filter((group) => group !== "")].map(
    Number,
  );
}
