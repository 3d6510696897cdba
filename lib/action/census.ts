/** Whom the driver lists while a machine is watched. Each is read at first sight: it may be gone a moment later. */
import { isPid, type Pid } from "../core/ids.ts";
import { contextsOf, type DriverReport } from "../model/gpu.ts";
import type { ProcessScan } from "../model/observation.ts";
import type { Process } from "../model/process.ts";
import type { Population } from "../world/ports.ts";

/** Keeps everybody who was ever listed, with their ancestors at that time. It grows with processes, never with time. */
export class Census {
  readonly #found = new Map<Pid, Process>();
  readonly #reused = new Set<Pid>();
  readonly #population: Pick<Population, "readProcess">;
  #listed: ReadonlySet<Pid>;

  /** @param scan of the look that the first report is from, if it gave one. */
  constructor(scan: Pick<ProcessScan, "processes"> | undefined, population: Pick<Population, "readProcess">) {
    for (const [pid, process] of scan?.processes ?? []) this.#found.set(pid, process);
    // Who stands in the scan was read just now, and need not be read again when the first report is shown.
    this.#listed = new Set(this.#found.keys());
    this.#population = population;
  }

  get processes(): readonly Process[] {
    return [...this.#found.values()];
  }

  readonly find = (pid: Pid): Process | undefined => this.#found.get(pid);

  /** Whether several processes were listed under this pid, or may have been. */
  readonly isReused = (pid: Pid): boolean => this.#reused.has(pid);

  /** Looks up who is new in a report. Must see each report, in the order of time. */
  async meet({ gpus }: Pick<DriverReport, "gpus">): Promise<void> {
    const listed = new Set(gpus.flatMap(({ processList }) => contextsOf(processList).map(({ pid }) => pid)));
    // A pid that was away may be another process by now.
    const fresh = [...listed].filter((pid) => !this.#listed.has(pid));
    this.#listed = listed;
    await Promise.all(fresh.map((pid) => this.#meet(pid)));
  }

  async #meet(pid: Pid): Promise<void> {
    const before = this.#found.get(pid);
    const process = await this.#population.readProcess(pid);
    // Whoever came back under the pid is gone again, and need not be the one who was known by it.
    if (process === undefined && before !== undefined) this.#reused.add(pid);
    if (process === undefined) return;
    if (before !== undefined && before.startTicks !== process.startTicks) this.#reused.add(pid);
    this.#found.set(pid, process);
    await this.#meetAncestors(process);
  }

  async #meetAncestors({ parentPid }: Process): Promise<void> {
    for (let next = parentPid; isPid(next) && !this.#found.has(next);) {
      const parent: Process | undefined = await this.#population.readProcess(next);
      if (parent === undefined) return;
      this.#found.set(next, parent);
      next = parent.parentPid;
    }
  }
}
