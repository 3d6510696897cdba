/** Judges by one look where processes are that run already. */
import { judgeIsolation } from "../analysis/isolation.ts";
import type { Whose } from "../analysis/isolation_input.ts";
import { IsolationTally } from "../analysis/isolation_tally.ts";
import type { Finding } from "../analysis/lint/finding.ts";
import { GpuctlError } from "../core/errors.ts";
import { isPid, type Pid } from "../core/ids.ts";
import { absent, known } from "../core/reading.ts";
import { type Bytes, milliseconds } from "../core/units.ts";
import { admitHiddenOn } from "../analysis/diff_hidden.ts";
import type { DriverReport } from "../model/gpu.ts";
import type { AllowedDevice, IsolatedProcess, IsolationVerdict } from "../model/isolation.ts";
import type { Observation, ProcessScan } from "../model/observation.ts";
import type { LiveSource } from "../model/source_choice.ts";
import type { LookOptions, World } from "../world/ports.ts";
import { answered, hidesRows } from "./isolate_job.ts";

export interface IsolateRunningOptions {
  readonly pids: readonly Pid[];
  readonly source: LiveSource;
  readonly threshold: Bytes;
  readonly look: LookOptions;
  readonly lint: readonly Finding[];
  /** @throws {GpuctlError} if the machine has not what the job is to be on */
  readonly allow: (machine: DriverReport) => readonly AllowedDevice[];
}

/**
 * Judges some processes and all that descend from them.
 *
 * @throws {GpuctlError} `unavailable` if one of them is not there, or the driver gives no answer
 */
export async function isolateRunning(
  { pids, source, threshold, look, lint, allow }: IsolateRunningOptions,
  { observe, processes }: Pick<World, "observe" | "processes">,
): Promise<{ readonly simulated: boolean; readonly isolation: IsolationVerdict }> {
  refuseMissing(pids, processes);
  const observation = await observe(source, look);
  // One that ended meanwhile would be taken for one that has no context.
  refuseMissing(pids, processes);
  const report = answered(observation, "gpuctl snapshot says what can be seen");
  const machine = hidesRows(observation) ? { ...report, gpus: report.gpus.map(admitHiddenOn) } : report;
  const tally = new IsolationTally();
  tally.add({ at: milliseconds(0), report: known(machine) });
  const family = new Family(new Set(pids), observation, processes);
  const isolation = judgeIsolation({
    ...{ allowed: allow(machine), threshold, machine, tally, lint },
    baseline: absent("not-asked", "the job ran already"),
    processes: family.members(),
    whose: (pid) => family.whose(pid),
    untold: observation.scan.ok ? observation.scan.value.coverage.cutShort : observation.scan,
  });
  return { simulated: observation.simulated, isolation };
}

function refuseMissing(pids: readonly Pid[], processes: World["processes"]): void {
  const missing = pids.find((pid) => processes.findProcess(pid) === undefined);
  if (missing === undefined) return;
  throw new GpuctlError("unavailable", `Cannot judge PID ${missing}: there is no such process`);
}

/** Some processes and what descends from them, as one look showed it. */
class Family {
  readonly #roots: ReadonlySet<number>;
  readonly #scan: ProcessScan | undefined;
  readonly #processes: World["processes"];

  constructor(roots: ReadonlySet<Pid>, { scan }: Observation, processes: World["processes"]) {
    this.#roots = roots;
    this.#scan = scan.ok ? scan.value : undefined;
    this.#processes = processes;
  }

  whose(pid: Pid): Whose {
    for (let current: number = pid;;) {
      if (this.#roots.has(current)) return "job";
      if (current <= 1) return "other";
      const parent = this.#parentOf(current);
      if (parent === undefined) return "unknown";
      current = parent;
    }
  }

  members(): readonly IsolatedProcess[] {
    if (this.#scan === undefined) return [];
    const { processes, uses } = this.#scan;
    return [...processes.values()].filter(({ pid }) => this.whose(pid) === "job").map((process) => {
      const used = uses.get(process.pid);
      return { process, uses: used === undefined ? absent("not-reported") : known(used) };
    });
  }

  #parentOf(pid: number): number | undefined {
    const seen = isPid(pid) ? this.#scan?.processes.get(pid) : undefined;
    return seen?.parentPid ?? this.#processes.findProcess(pid)?.parentPid;
  }
}
