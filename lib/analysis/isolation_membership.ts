/** Whose a process is, for somebody who has named processes that ran already. */
import { isPid, type Pid } from "../core/ids.ts";
import type { Process } from "../model/process.ts";
import type { Whose } from "./isolation_input.ts";
import { mayBeOrphanOf, type Root } from "./isolation_orphans.ts";
import { type OwnerNames, whyNotNamed, whyUntold } from "./selection.ts";

/** What was named: processes, or those of an owner. */
export type Subject =
  | { readonly kind: "processes"; readonly roots: ReadonlyMap<Pid, Root> }
  | { readonly kind: "owner"; readonly names: OwnerNames };

/** Everybody who was looked up, with their ancestors. */
export interface Seen {
  find(pid: Pid): Process | undefined;
  /** Whether several processes had this pid: of which one a context was is then open. */
  isReused(pid: Pid): boolean;
}

/**
 * Says whether a process is one of those that were named, or has come from one: what a process starts is its job, and
 * what leaves the control group of a container or a Slurm job is still theirs. Of an orphan that may have come from a
 * named process nobody can tell. A user's, a unit's or a cgroup's processes are those that are in it now: everything
 * descends from root's first one.
 */
export function judgeMembership(pid: Pid, subject: Subject, seen: Seen): Whose {
  if (seen.isReused(pid)) return "unknown";
  const isByDescent = subject.kind === "processes" || isOfJob(subject.names);
  const passed = new Set<Pid>();
  let isDoubtful = false;
  for (let current = pid; !passed.has(current);) {
    passed.add(current);
    const process = seen.find(current);
    if (process === undefined) return "unknown";
    const whose = judgeOne(process, subject, seen);
    if (whose === "job") return "job";
    if (!isByDescent) return whose;
    isDoubtful ||= whose === "unknown";
    const parent = process.parentPid;
    // The first process is read only where it is listed, and starts nobody's job.
    if (!isPid(parent) || parent === 1 && seen.find(parent) === undefined) break;
    current = parent;
  }
  return isDoubtful ? "unknown" : "other";
}

function isOfJob({ users, unit, cgroup }: OwnerNames): boolean {
  return users === undefined && unit === undefined && cgroup === undefined;
}

function judgeOne(process: Process, subject: Subject, seen: Seen): Whose {
  if (subject.kind === "owner") {
    if (whyUntold(process, subject.names) !== undefined) return "unknown";
    return whyNotNamed(process, subject.names) === undefined ? "job" : "other";
  }
  const { roots } = subject;
  if (roots.get(process.pid)?.startTicks === process.startTicks) return "job";
  // Nobody joins a session: who is in that of a root was started below it, though its own parent may be gone.
  if (isPid(process.session) && roots.has(process.session)) return "job";
  const parent = isPid(process.parentPid) ? seen.find(process.parentPid) : undefined;
  return [...roots.values()].some((root) => mayBeOrphanOf(process, root, parent)) ? "unknown" : "other";
}
