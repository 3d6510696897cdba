/** Whether the Slurm job or the container that a process belongs to still runs. */
import type { ProcessScan } from "../model/observation.ts";
import type { ContainerId, Process } from "../model/process.ts";
import { ancestorsOf, programOf } from "./lineage.ts";

export interface JobFinding {
  readonly state: "running" | "ended" | "unknown";
  readonly evidence: readonly string[];
}

const CONTAINER_SUPERVISOR =
  /^(?:containerd-shim.*|conmon|systemd-nspawn|lxc-start|\[lxc monitor\].*|runsc.*|crun|runc)$/;

/** Judges the job that a process's cgroup names; `undefined` where it names none. */
export function judgeJob(process: Process, scan: ProcessScan): JobFinding | undefined {
  if (!process.owner.ok) return undefined;
  const { isCgroupDeleted, cgroup, slurmJob, container } = process.owner.value;
  if (isCgroupDeleted) return { state: "ended", evidence: [`its cgroup has been removed: ${cgroup}`] };
  if (slurmJob !== undefined) return judgeSlurmJob(process, slurmJob, scan);
  if (container !== undefined && !container.isMonitor) return judgeContainer(process, container, scan);
  return undefined;
}

function judgeSlurmJob(process: Process, job: string, scan: ProcessScan): JobFinding {
  const steward = ancestorsOf(process, scan).find((ancestor) => programOf(ancestor) === "slurmstepd") ??
    findSupervisor(scan, (argv) => argv.startsWith("slurmstepd:") && argv.includes(`[${job}.`));
  if (steward) {
    return {
      state: "running",
      evidence: [`belongs to Slurm job ${job}, whose slurmstepd lives (PID ${steward.pid})`],
    };
  }
  if (!scan.supervisors.ok) return { state: "unknown", evidence: [`belongs to Slurm job ${job}`] };
  return { state: "ended", evidence: [`belongs to Slurm job ${job}, and no slurmstepd of that job lives`] };
}

function judgeContainer(process: Process, container: ContainerId, scan: ProcessScan): JobFinding {
  const short = container.id.slice(0, 12);
  const outside = ancestorsOf(process, scan).find(({ owner }) =>
    owner.ok && owner.value.container?.id !== container.id
  );
  const supervisor = outside && CONTAINER_SUPERVISOR.test(programOf(outside))
    ? outside
    : findSupervisor(scan, (argv) => argv.includes(container.id));
  if (supervisor) {
    return {
      state: "running",
      evidence: [
        `belongs to container ${short}, whose ${programOf(supervisor)} lives (PID ${supervisor.pid})`,
      ],
    };
  }
  const isSeenWhole = scan.supervisors.ok && scan.reader.isInitialPidNamespace.ok &&
    scan.reader.isInitialPidNamespace.value;
  // Only a container whose first process has lost its supervisor to PID 1 is proven dead.
  if (!isSeenWhole || outside?.pid !== 1) {
    return { state: "unknown", evidence: [`belongs to container ${short}`] };
  }
  return {
    state: "ended",
    evidence: [`belongs to container ${short}, and nothing supervises that container any more`],
  };
}

function findSupervisor(scan: ProcessScan, matches: (argv: string) => boolean): Process | undefined {
  if (!scan.supervisors.ok) return undefined;
  return scan.supervisors.value.find(({ argv }) => argv.ok && matches(argv.value.join(" ")));
}
