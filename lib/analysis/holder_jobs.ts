/**
 * Which holders are the ranks of one job, told by what their launcher gave them, or by the title that their server gave
 * them. Two jobs are never taken for one: their ranks agree in the variables that tell jobs apart, have been started by one
 * process (or, where that has ended, at one time), and no rank is there twice. What does not show all that has no job.
 */
import type { Pid } from "../core/ids.ts";
import { valueOf } from "../core/reading.ts";
import type { ProcessScan } from "../model/observation.ts";
import type { Process } from "../model/process.ts";
import type { HolderJob, JobLauncher } from "../model/snapshot.ts";
import { ancestorsOf, findStarter } from "./lineage.ts";
import { variableOf, wasAdopted } from "./owners.ts";
import { OF_ONE_JOB } from "./ranks.ts";
import { findTitle, WORKER_TITLES } from "./titles.ts";

interface RankKind {
  readonly launcher: JobLauncher;
  /** Variables that all its ranks have. */
  readonly needs: readonly string[];
  /** Where the rank's number stands: the first of these that is set. */
  readonly numbers: readonly string[];
  /** What a job is called by: the first of these whose variables all say something. */
  readonly names: readonly (readonly string[])[];
  /** What stands between them; a colon unless given. */
  readonly between?: string;
}

const MEETING_POINT = ["MASTER_ADDR", "MASTER_PORT"];
/** First match wins: a rank may have been started by a launcher that is itself a rank of Slurm's. */
const KINDS: readonly RankKind[] = [
  {
    launcher: "torchrun",
    needs: ["TORCHELASTIC_RUN_ID"],
    numbers: ["RANK", "LOCAL_RANK"],
    names: [["TORCHELASTIC_RUN_ID"], MEETING_POINT],
  },
  { launcher: "deepspeed", needs: ["CROSS_RANK"], numbers: ["RANK", "LOCAL_RANK"], names: [MEETING_POINT] },
  {
    launcher: "horovod",
    needs: [],
    numbers: ["HOROVOD_RANK"],
    names: [["HOROVOD_GLOO_RENDEZVOUS_ADDR", "HOROVOD_GLOO_RENDEZVOUS_PORT"]],
  },
  {
    launcher: "mpi",
    needs: [],
    numbers: ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"],
    names: [["PMIX_NAMESPACE"], ["PMI_JOBID"], MEETING_POINT],
  },
  {
    launcher: "slurm",
    needs: ["SLURM_JOB_ID", "SLURM_STEP_ID"],
    numbers: ["SLURM_PROCID"],
    names: [["SLURM_JOB_ID", "SLURM_STEP_ID"]],
    between: ".",
  },
  {
    launcher: "torch-distributed",
    needs: MEETING_POINT,
    numbers: ["RANK", "LOCAL_RANK"],
    names: [MEETING_POINT],
  },
];
/** What torchrun calls every job that nobody has named (torch.distributed.run, --rdzv-id). */
const NAMELESS = "none";

/** A launcher starts the ranks of a machine in a moment: 10 s in clock ticks, which are 10 ms each. */
const ONE_START_TICKS = 1000;

const TITLED = ["vllm", "sglang"] as const;
/** One number alone: with others beside it, it is no rank among all (`VLLM::Worker_DP1_TP0`). */
const TITLED_RANK = /^(?:VLLM::Worker|sglang::scheduler)_TP(\d{1,4})$/;

/** What a process shows of the job that it is of. */
interface Sign {
  readonly launcher: JobLauncher;
  readonly name: string | undefined;
  readonly rank: number | undefined;
  /** Equal for all ranks of a job, as far as the process itself shows it. */
  readonly key: string;
}

/** A holder with its rank's process and all that tells the job from others. */
interface Membership {
  readonly pid: Pid;
  readonly sign: Sign;
  readonly root: Process;
  readonly key: string;
}

/** The jobs of those holders that show one, by pid. */
export function findHolderJobs(
  holders: readonly Process[],
  scan: ProcessScan,
): ReadonlyMap<Pid, HolderJob> {
  const signs = new Map<Pid, Sign | undefined>();
  const signOf = (process: Process): Sign | undefined => {
    if (!signs.has(process.pid)) signs.set(process.pid, findSign(process));
    return signs.get(process.pid);
  };
  const byKey = new Map<string, Membership[]>();
  for (const holder of holders) {
    const found = findMembership(holder, scan, signOf);
    if (found === undefined) continue;
    const others = byKey.get(found.key);
    if (others) others.push(found);
    else byKey.set(found.key, [found]);
  }
  const jobs = new Map<Pid, HolderJob>();
  for (const members of byKey.values()) {
    const [first] = members.toSorted((a, b) => a.pid - b.pid);
    if (first === undefined || hasRankTwice(members) || haveOwnStarts(members, scan)) continue;
    for (const { pid, sign: { launcher, name, rank } } of members) {
      jobs.set(pid, {
        launcher,
        firstPid: first.pid,
        ...name !== undefined && { name },
        ...rank !== undefined && { rank },
      });
    }
  }
  return jobs;
}

/** A launcher starts each rank once: with one twice these are two jobs that are called alike, or one and what it left. */
function hasRankTwice(members: readonly Membership[]): boolean {
  const roots = new Map<number, Pid>();
  return members.some(({ sign: { rank }, root: { pid } }) => {
    if (rank === undefined) return false;
    const other = roots.get(rank);
    roots.set(rank, pid);
    return other !== undefined && other !== pid;
  });
}

/** Ranks without their launcher may be what two jobs left that met at one point one after the other. */
function haveOwnStarts(members: readonly Membership[], scan: ProcessScan): boolean {
  const starts = members.filter(({ root }) => wasAdopted(findStarter(root, scan), scan))
    .map(({ root }) => root.startTicks);
  const [first = 0, ...later] = starts.toSorted((a, b) => a - b);
  return (later.at(-1) ?? first) - first > ONE_START_TICKS;
}

/** Its own sign, or that of the nearest ancestor who has one: what a rank starts is of its job. */
function findMembership(
  holder: Process,
  scan: ProcessScan,
  signOf: (process: Process) => Sign | undefined,
): Membership | undefined {
  const line = [holder, ...ancestorsOf(holder, scan)].map((process) => ({ process, sign: signOf(process) }));
  const start = line.findIndex(({ sign }) => sign !== undefined);
  const sign = line[start]?.sign;
  if (sign === undefined) return undefined;
  // Variables pass on: the rank is the topmost process that has them.
  const rest = line.slice(start);
  const end = rest.findIndex((each) => each.sign?.key !== sign.key || !isSameRank(each.sign, sign));
  const root = rest[end < 0 ? rest.length - 1 : end - 1]?.process ?? holder;
  return { pid: holder.pid, sign, root, key: `${starterOf(root, sign, scan)} ${sign.key}` };
}

/** The workers of a server are told by their titles alone, each with another one. */
function isSameRank(a: Sign, b: Sign): boolean {
  return isTitled(a.launcher) || a.rank === b.rank;
}

/** Who has started a rank, as far as that tells jobs apart. Of those that PID 1 has taken in nobody knows more. */
function starterOf(root: Process, { launcher }: Sign, scan: ProcessScan): number {
  if (!isTitled(launcher)) return root.parentPid;
  // Titles name no job: without their server, workers are of one job only where one of them has started the others.
  const starter = findStarter(root, scan);
  return starter.state === "alive" ? starter.process.pid : root.pid;
}

function findSign(process: Process): Sign | undefined {
  return findTitleSign(process) ?? findVariableSign(process);
}

function findTitleSign(process: Process): Sign | undefined {
  for (const launcher of TITLED) {
    const title = findTitle(process, WORKER_TITLES[launcher]);
    if (title === undefined) continue;
    const number = TITLED_RANK.exec(title)?.[1];
    return {
      launcher,
      name: undefined,
      rank: number === undefined ? undefined : Number(number),
      key: launcher,
    };
  }
  return undefined;
}

function isTitled(launcher: JobLauncher): boolean {
  return TITLED.some((each) => each === launcher);
}

function findVariableSign(process: Process): Sign | undefined {
  if (!process.environment.ok) return undefined;
  const shared = OF_ONE_JOB.map((name) => variableOf(process, name) ?? null);
  // Without any of them nothing tells the ranks of one job from those of another.
  if (shared.every((value) => value === null)) return undefined;
  for (const { launcher, needs, numbers, names, between = ":" } of KINDS) {
    const rank = needs.every((name) => isSet(process, name)) ? findNumber(process, numbers) : undefined;
    if (rank === undefined) continue;
    const key = JSON.stringify([launcher, valueOf(process.uid) ?? null, ...shared]);
    const named = names.find((each) => each.every((name) => isNamed(process, name)));
    return { launcher, name: named?.map((name) => variableOf(process, name)).join(between), rank, key };
  }
  return undefined;
}

function findNumber(process: Process, names: readonly string[]): number | undefined {
  const text = names.map((name) => variableOf(process, name)).find((value) => value !== undefined);
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

function isSet(process: Process, name: string): boolean {
  const value = variableOf(process, name);
  return value !== undefined && value !== "";
}

function isNamed(process: Process, name: string): boolean {
  return isSet(process, name) && variableOf(process, name) !== NAMELESS;
}
