/** The job's contexts process by process: where each works, and which rank it is. */
import type { GpuUuid, Pid } from "../core/ids.ts";
import type { Gpu } from "../model/gpu.ts";
import type { Environment } from "../model/process.ts";
import type { IsolationTally } from "./isolation_tally.ts";

/** Where launchers say which of its ranks on this machine a process is: torchrun, Slurm, Open MPI, PMI. */
const LOCAL_RANK_VARIABLES = ["LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "PMI_LOCAL_RANK"];

/** Which rank of this machine a process is, from 0; `undefined` where its environment does not say. */
export function findLocalRank(environment: Environment): number | undefined {
  for (const name of LOCAL_RANK_VARIABLES) {
    const value = environment.get(name);
    if (value !== undefined && /^\d{1,5}$/.test(value)) return Number(value);
  }
  return undefined;
}

/** What each process of the job has on each GPU. */
export class JobContexts {
  /** The GPU on which each process has most. */
  readonly mainGpus: ReadonlyMap<Pid, GpuUuid>;
  readonly #bytes = new Map<Pid, Map<GpuUuid, number>>();

  constructor(gpus: readonly Gpu[], tally: IsolationTally, isJobs: (pid: Pid) => boolean) {
    for (const { uuid } of gpus) {
      for (const { pid, peak } of tally.gpu(uuid).contexts) {
        if (!isJobs(pid)) continue;
        const own = this.#bytes.get(pid) ?? new Map<GpuUuid, number>();
        this.#bytes.set(pid, own);
        own.set(uuid, (own.get(uuid) ?? 0) + (peak.ok ? peak.value : 0));
      }
    }
    this.mainGpus = new Map([...this.#bytes].map(([pid, own]) => [pid, largest(own)]));
  }

  get pids(): Iterable<Pid> {
    return this.#bytes.keys();
  }

  /** The GPUs on which a process has a context. */
  gpusOf(pid: Pid): readonly GpuUuid[] {
    return [...this.#bytes.get(pid)?.keys() ?? []];
  }

  /** Whether a process has more on some other GPU than on this one. */
  worksElsewhere(pid: Pid, gpu: GpuUuid): boolean {
    const own = this.#bytes.get(pid);
    const here = own?.get(gpu) ?? 0;
    return [...own ?? []].some(([other, count]) => other !== gpu && count > here);
  }
}

function largest(own: ReadonlyMap<GpuUuid, number>): GpuUuid {
  const [first, ...others] = own;
  if (first === undefined) throw new RangeError("Cannot name the largest of no contexts");
  return others.reduce((best, each) => each[1] > best[1] ? each : best, first)[0];
}
