/** Whether the batch job or the container that a process belongs to still runs. */
import type { ProcessScan } from "../model/observation.ts";
import type { ContainerId, Process } from "../model/process.ts";
import { ancestorsOf, programOf } from "./lineage.ts";

export interface JobFinding {
  readonly kind: "batch" | "container" | "cgroup";
  readonly state: "running" | "ended" | "unknown";
  readonly evidence: readonly string[];
}

const CONTAINER_SUPERVISOR =
  /^(?:containerd-shim.*|conmon|systemd-nspawn|lxc-start|\[lxc monitor\].*|runsc.*|crun|runc)$/;
/** Variables with the job's id of batch systems whose daemons are not looked for. */
const OTHER_BATCH_SYSTEMS = [
  ["PBS_JOBID", "PBS"],
  ["LSB_JOBID", "LSF"],
  ["FLUX_JOB_ID", "Flux"],
  ["COBALT_JOBID", "Cobalt"],
  ["OAR_JOB_ID", "OAR"],
] as const;

/** Judges the job that a process belongs to; `undefined` where nothing names one. */
export function judgeJob(process: Process, scan: ProcessScan): JobFinding | undefined {
  if (process.owner.ok) {
    const { isCgroupDeleted, cgroup, slurmJob, container } = process.owner.value;
    if (isCgroupDeleted) {
      return { kind: "cgroup", state: "ended", evidence: [`its cgroup has been removed: ${cgroup}`] };
    }
    if (slurmJob !== undefined) return judgeSlurmJob(process, slurmJob, scan);
    if (container !== undefined && !container.isMonitor) return judgeContainer(process, container, scan);
  }
  return judgeVariables(process, scan);
}

/** Says whether every process shows to the reader, so that one which is not seen does not exist. */
function seesAll({ reader, coverage }: ProcessScan): boolean {
  return reader.isInitialPidNamespace.ok && reader.isInitialPidNamespace.value &&
    coverage.cutShort === undefined;
}

function judgeSlurmJob(process: Process, job: string, scan: ProcessScan): JobFinding {
  const steward = findSteward(process, job, scan);
  if (steward) return running(job, steward);
  const stewards = scan.supervisors.ok ? scan.supervisors.value.filter(isSteward) : [];
  if (!scan.supervisors.ok || !seesAll(scan) || !stewards.every((each) => tellsJob(each, job))) {
    return { kind: "batch", state: "unknown", evidence: [`belongs to Slurm job ${job}`] };
  }
  return {
    kind: "batch",
    state: "ended",
    evidence: [`belongs to Slurm job ${job}, and no slurmstepd of that job lives`],
  };
}

/** A job that only a variable names may be one of long ago, taken along by a shell: it protects, and proves no end. */
function judgeVariables(process: Process, scan: ProcessScan): JobFinding | undefined {
  if (!process.environment.ok) return undefined;
  const variables = process.environment.value;
  const job = variables.get("SLURM_JOB_ID");
  const steward = job === undefined ? undefined : findSteward(process, job, scan);
  if (job !== undefined && steward) return running(job, steward);
  if (job !== undefined && !scan.supervisors.ok) {
    return { kind: "batch", state: "unknown", evidence: [`belongs to Slurm job ${job}`] };
  }
  for (const [name, system] of OTHER_BATCH_SYSTEMS) {
    const id = variables.get(name);
    if (id !== undefined) {
      return { kind: "batch", state: "unknown", evidence: [`belongs to ${system} job ${id}`] };
    }
  }
  return undefined;
}

function running(job: string, steward: Process): JobFinding {
  return {
    kind: "batch",
    state: "running",
    evidence: [`belongs to Slurm job ${job}, whose slurmstepd lives (PID ${steward.pid})`],
  };
}

function findSteward(process: Process, job: string, scan: ProcessScan): Process | undefined {
  const above = ancestorsOf(process, scan).find(isSteward);
  if (above || !scan.supervisors.ok) return above;
  return scan.supervisors.value.filter(isSteward)
    .find((each) => cgroupJob(each) === job || titleOf(each).includes(`[${job}.`));
}

function isSteward(process: Process): boolean {
  return programOf(process) === "slurmstepd";
}

/** A slurmstepd is in the cgroup of its job, which newer Slurm may name by letters; its title has the job's number. */
function tellsJob(steward: Process, job: string): boolean {
  return cgroupJob(steward) !== undefined || (/^\d+$/.test(job) && /\[\d/.test(titleOf(steward)));
}

function cgroupJob({ owner }: Process): string | undefined {
  return owner.ok ? owner.value.slurmJob : undefined;
}

function titleOf({ argv }: Process): string {
  return argv.ok ? argv.value.join(" ") : "";
}

function judgeContainer(process: Process, container: ContainerId, scan: ProcessScan): JobFinding {
  const short = container.id.slice(0, 12);
  // A monitor beside the container has a cgroup that names it too.
  const outside = ancestorsOf(process, scan).find(({ owner }) =>
    !owner.ok || owner.value.container?.id !== container.id || owner.value.container.isMonitor
  );
  const supervisor = outside && CONTAINER_SUPERVISOR.test(programOf(outside))
    ? outside
    : scan.supervisors.ok
    ? scan.supervisors.value.find((each) => titleOf(each).includes(container.id))
    : undefined;
  if (supervisor) {
    return {
      kind: "container",
      state: "running",
      evidence: [
        `belongs to container ${short}, whose ${programOf(supervisor)} lives (PID ${supervisor.pid})`,
      ],
    };
  }
  const isSeenWhole = seesAll(scan) && scan.supervisors.ok &&
    scan.supervisors.value.every(({ argv }) => argv.ok);
  // Only a container whose first process has lost its supervisor to PID 1 is proven dead.
  if (!isSeenWhole || outside?.pid !== 1) {
    return { kind: "container", state: "unknown", evidence: [`belongs to container ${short}`] };
  }
  return {
    kind: "container",
    state: "ended",
    evidence: [`belongs to container ${short}, and nothing supervises that container any more`],
  };
}
