/** Whether this /proc shows all processes. A mount option (hidepid of proc(5)) may leave those of other users out. */
import { existsSync } from "node:fs";
import { type Absent, absent } from "../core/reading.ts";
import type { Reader } from "../model/observation.ts";
import { readText } from "./files.ts";

/** Values of hidepid with which processes do not show at all: 2 and 4, and what newer kernels call them. */
const HIDING = ["2", "4", "invisible", "ptraceable"];

/** What /proc/self/mountinfo says of one mount of proc. */
export interface ProcMount {
  readonly hidepid: string | undefined;
  /** Members of this group are shown everything. */
  readonly group: number | undefined;
}

/** Says why processes are missing from this /proc; `undefined` where all of them show. */
export function findHiding(procRoot: string, reader: Reader): Absent | undefined {
  const mounts = readText("/proc/self/mountinfo");
  const mount = mounts.ok ? findProcMount(mounts.value, procRoot) : undefined;
  if (mount?.hidepid === undefined || !HIDING.includes(mount.hidepid)) return undefined;
  // Process 1 is always there. A reader without the right to trace it does not see it either.
  const seesAll = reader.isRoot ? existsSync(`${procRoot}/1`) : isMember(mount.group);
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
  const group = /[ ,]gid=(\d+)/.exec(line)?.[1];
  return {
    hidepid: /[ ,]hidepid=(\w+)/.exec(line)?.[1],
    group: group === undefined ? undefined : Number(group),
  };
}

function isMember(group: number | undefined): boolean {
  const status = readText("/proc/self/status");
  const ids = status.ok ? /^Gid:\t(.*)$/m.exec(status.value)?.[1] : undefined;
  const further = status.ok ? /^Groups:\t(.*)$/m.exec(status.value)?.[1] : undefined;
  const groups = `${ids ?? ""} ${further ?? ""}`.split(/\s+/).filter((each) => each !== "").map(Number);
  return group !== undefined && groups.includes(group);
}
