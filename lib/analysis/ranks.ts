/**
 * What became of the launcher of a rank. A rank is told by its variables, and these pass on to all that it starts, so its
 * parent alone proves less than that of a worker which is told by its arguments.
 */
import type { ProcessScan } from "../model/observation.ts";
import type { Process } from "../model/process.ts";
import { hasEnded } from "./facts.ts";
import { ancestorsOf, findStarter } from "./lineage.ts";
import { judgeOwnerByParent, type OwnerFinding, variableOf, wasAdopted } from "./owners.ts";

export interface RankKind {
  /** The launcher in words. */
  readonly owner: string;
  /** The variables that all ranks of this kind have. */
  readonly names: readonly string[];
}

/** Variables in which the ranks of one job agree and those of two jobs on a machine differ. */
export const OF_ONE_JOB = [
  ...["TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT", "PMIX_NAMESPACE", "PMI_JOBID", "SLURM_JOB_ID"],
  ...["SLURM_STEP_ID", "HOROVOD_GLOO_RENDEZVOUS_ADDR", "HOROVOD_GLOO_RENDEZVOUS_PORT"],
];

/** Judges a rank's launcher: gone only if nothing else can have started this process and no rank of the job lives. */
export function judgeLauncher(rank: Process, kind: RankKind, scan: ProcessScan): OwnerFinding {
  const starter = findStarter(rank, scan);
  if (starter.state !== "gone") return judgeOwnerByParent(rank, kind.owner, scan);
  const { pid, comm } = starter.adoptedBy;
  if (!wasAdopted(starter, scan)) {
    return { state: "unknown", why: `its parent, PID ${pid} (${comm}), may have started it` };
  }
  if (!rank.ignoresHangup.ok || rank.ignoresHangup.value) {
    return { state: "unknown", why: "a rank may have started it with nohup, on purpose" };
  }
  if (scan.coverage.cutShort) {
    return { state: "unknown", why: "whether others of its job live was not seen" };
  }
  const other = findLivingRank(rank, kind, scan);
  if (other) return { state: "unknown", why: `PID ${other.pid} of the same job runs under its launcher` };
  return judgeOwnerByParent(rank, kind.owner, scan);
}

/** A process of the rank's job whose branch has not been adopted, as the rank itself and its descendants have been. */
function findLivingRank(rank: Process, kind: RankKind, scan: ProcessScan): Process | undefined {
  for (const other of scan.processes.values()) {
    if (hasEnded(other) || !isOfJob(other, rank, kind)) continue;
    const line = [other, ...ancestorsOf(other, scan)];
    const end = line.findIndex((each) => !isOfJob(each, rank, kind));
    const root = line[end < 0 ? line.length - 1 : end - 1];
    if (root && !wasAdopted(findStarter(root, scan), scan)) return root;
  }
  return undefined;
}

function isOfJob(other: Process, rank: Process, { names }: RankKind): boolean {
  return names.every((name) => variableOf(other, name) !== undefined) &&
    OF_ONE_JOB.every((name) => variableOf(other, name) === variableOf(rank, name));
}
