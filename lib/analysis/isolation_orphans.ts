/** Who may have been started by a process without showing it any more: a daemon has lost its parent and its session. */
import type { Process } from "../model/process.ts";

/** A process that was named, with what those that it starts inherit. */
export type Root = Pick<Process, "pid" | "startTicks" | "uid" | "owner">;

const INIT = 1;
/**
 * Programs that take in the orphans below them (PR_SET_CHILD_SUBREAPER of prctl(2), which /proc does not show). Such a
 * name is a hint that anybody can give himself: it adds a doubt and takes none away.
 */
const REAPERS: readonly string[] = [
  "systemd",
  "slurmstepd",
  "containerd-shim",
  "conmon",
  "tini",
  "dumb-init",
  "gpuctl",
];

/** Whether a process may be the orphan of one that a root has started. */
export function mayBeOrphanOf(process: Process, root: Root, parent: Process | undefined): boolean {
  return isOrphan(process, parent) && process.startTicks >= root.startTicks &&
    !isOtherUser(process, root) && !isElsewhere(process, root);
}

/** Taken in by a reaper, or in a session that its parent neither is in nor can have given it. */
function isOrphan({ pid, parentPid, session }: Process, parent: Process | undefined): boolean {
  if (parentPid === INIT) return true;
  if (parent === undefined) return false;
  return REAPERS.some((name) => parent.comm.startsWith(name)) ||
    session !== pid && session !== parent.session;
}

/** Who is neither root nor the same user was not started by it; sudo and su go by way of root. */
function isOtherUser({ uid }: Process, root: Root): boolean {
  return uid.ok && root.uid.ok && uid.value !== root.uid.value && uid.value !== 0 && root.uid.value !== 0;
}

/** A control group is inherited, and left only with the help of a daemon, or of root. */
function isElsewhere({ owner }: Process, root: Root): boolean {
  return owner.ok && root.owner.ok && owner.value.cgroup !== root.owner.value.cgroup;
}
