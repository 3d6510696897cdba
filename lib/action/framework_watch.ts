/** Which frameworks the processes run that have a context where a job has no business. Only of these it is read. */
import { findFramework, type Framework } from "../analysis/frameworks.ts";
import { allowanceOf } from "../analysis/isolation_place.ts";
import type { Pid } from "../core/ids.ts";
import { contextsOf, type DriverReport } from "../model/gpu.ts";
import type { AllowedDevice } from "../model/isolation.ts";
import type { ProcessDetails } from "../world/ports.ts";

/** Where nothing was found by this look, nothing will be: libraries are there before a context is. */
const LAST_LOOK = 64;

/** Reads at first sight, since a job may be short, and again ever more rarely while nothing is found. */
export class FrameworkWatch {
  readonly frameworks = new Map<Pid, Framework>();
  readonly #looks = new Map<Pid, number>();
  readonly #details: Pick<ProcessDetails, "readMappedFiles">;

  constructor(details: Pick<ProcessDetails, "readMappedFiles">) {
    this.#details = details;
  }

  /** Takes a report while its processes still run. */
  add(
    { gpus }: Pick<DriverReport, "gpus">,
    { allowed, isJobs }: {
      readonly allowed: readonly AllowedDevice[];
      readonly isJobs: (pid: Pid) => boolean;
    },
  ): void {
    const strays = gpus.filter((gpu) => allowanceOf(gpu, allowed) !== "wholly")
      .flatMap(({ processList }) => contextsOf(processList).map(({ pid }) => pid));
    for (const pid of new Set(strays)) if (!this.frameworks.has(pid) && isJobs(pid)) this.#look(pid);
  }

  #look(pid: Pid): void {
    const looks = (this.#looks.get(pid) ?? 0) + 1;
    this.#looks.set(pid, looks);
    if (looks > LAST_LOOK || !Number.isInteger(Math.log2(looks))) return;
    const files = this.#details.readMappedFiles(pid);
    const framework = files.ok ? findFramework(files.value) : undefined;
    if (framework !== undefined) this.frameworks.set(pid, framework);
  }
}
