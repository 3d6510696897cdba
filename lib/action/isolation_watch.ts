/** What is seen of a job that should stay on its GPUs: every look, and each of its processes at first sight. */
import { admitHiddenOn } from "../analysis/diff_hidden.ts";
import { IsolationTally } from "../analysis/isolation_tally.ts";
import { mostUses } from "../analysis/most_uses.ts";
import type { Pid } from "../core/ids.ts";
import { absent, known, mapReading, type Reading } from "../core/reading.ts";
import { contextsOf, type DriverReport } from "../model/gpu.ts";
import type { IsolatedProcess } from "../model/isolation.ts";
import type { DeviceUse } from "../model/observation.ts";
import type { JobSample } from "../model/job_sample.ts";
import type { ProcessDetails, ProcessOrigins, ProcessTable } from "../world/ports.ts";
import { visibleProcesses } from "./visible_processes.ts";

export interface IsolationWorld {
  readonly processes: Pick<ProcessTable, "findProcess">;
  readonly details: Pick<ProcessDetails, "readArguments">;
  readonly origins: ProcessOrigins;
}

/** Collects what the verdict rests on. What it keeps grows with the job's processes, never with time. */
export class IsolationEvidence {
  readonly tally = new IsolationTally();
  /** Every process of the job that was met, with a context or without. */
  readonly family = new Set<Pid>();
  readonly #processes = new Map<Pid, IsolatedProcess>();
  readonly #hidesRows: boolean;
  readonly #world: IsolationWorld;

  /** @param hidesRows whether the driver lists only some of the processes to this reader. */
  constructor({ hidesRows }: { readonly hidesRows: boolean }, world: IsolationWorld) {
    this.#hidesRows = hidesRows;
    this.#world = { ...world, processes: visibleProcesses(world.processes) };
  }

  get processes(): readonly IsolatedProcess[] {
    return [...this.#processes.values()];
  }

  /** Takes a sample whose pids have been placed. */
  readonly add = ({ at, report, isJobs }: Pick<JobSample, "at" | "report" | "isJobs">): void => {
    if (report.ok) {
      for (const pid of listedIn(report.value)) if (isJobs(pid)) this.#meet(pid);
    }
    this.tally.add({ at, report: this.admit(report) });
  };

  /** Takes what a process of the job has of the device nodes now. One that has none of a GPU's has nothing to tell. */
  readonly noteUses = (pid: Pid, uses: Reading<readonly DeviceUse[]>): void => {
    this.family.add(pid);
    if (!uses.ok) return;
    const now = mostUses([], uses.value);
    if (now.length === 0 && !this.#processes.has(pid)) return;
    this.#meet(pid);
    const met = this.#processes.get(pid);
    if (met === undefined) return;
    const before = met.uses.ok ? met.uses.value : [];
    this.#processes.set(pid, { ...met, uses: known(mostUses(before, now)) });
  };

  /** A report as this reader may take it. */
  admit(report: Reading<DriverReport>): Reading<DriverReport> {
    return this.#hidesRows
      ? mapReading(report, (value) => ({ ...value, gpus: value.gpus.map(admitHiddenOn) }))
      : report;
  }

  /** Reads a process unless it is known already. One that has ended before it was read may come again under its pid. */
  #meet(pid: Pid): void {
    const before = this.#processes.get(pid);
    if (before?.process.environment.ok) return;
    const { processes, details, origins } = this.#world;
    const environment = origins.readEnvironment(pid);
    if (before && !environment.ok) return;
    const process = {
      pid,
      comm: processes.findProcess(pid)?.comm ?? before?.process.comm ?? "?",
      argv: details.readArguments(pid),
      environment,
      owner: origins.readOwner(pid),
    };
    this.#processes.set(pid, { process, uses: before?.uses ?? absent("not-asked") });
  }
}

/** Whether a sample shows a context of the job. */
export function showsJob({ report, isJobs }: Pick<JobSample, "report" | "isJobs">): boolean {
  return report.ok && [...listedIn(report.value)].some(isJobs);
}

function listedIn({ gpus }: DriverReport): ReadonlySet<Pid> {
  return new Set(gpus.flatMap(({ processList }) => contextsOf(processList).map(({ pid }) => pid)));
}
