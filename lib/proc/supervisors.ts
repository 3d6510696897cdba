/** The programs that watch over Slurm jobs and containers: while one lives, what it watches has not been left behind. */
import type { Pid } from "../core/ids.ts";
import type { Process } from "../model/process.ts";
import { listPids } from "./files.ts";
import { findVisibleStat } from "./stat.ts";

/** How their short names begin. A process that merely calls itself so protects more than it should, never less. */
const NAMES = [
  ...[
    "slurmstepd",
    "containerd-shim",
    "conmon",
    "systemd-nspawn",
    "lxc-start",
    "[lxc monitor]",
    "incusd",
    "lxd",
  ],
  ...["runsc", "runc", "crun"],
];

/**
 * Says whether it matters if a process's supervisor lives: its cgroup names a Slurm job or a container, or a variable names
 * a Slurm job that may have no cgroup.
 */
export function hasSupervisor(
  { owner, environment }: Pick<Process, "owner"> & Partial<Pick<Process, "environment">>,
): boolean {
  if (environment?.ok && environment.value.has("SLURM_JOB_ID")) return true;
  if (!owner.ok) return false;
  const { slurmJob, container } = owner.value;
  return slurmJob !== undefined || (container !== undefined && !container.isMonitor);
}

/** Lists every process whose name is one of a supervisor's. */
export function listSupervisors(procRoot: string): Pid[] {
  return listPids(procRoot).filter((pid) => {
    const comm = findVisibleStat(`${procRoot}/${pid}`)?.comm;
    return comm !== undefined && NAMES.some((name) => comm.startsWith(name));
  });
}
