/**
 * What a watch sees at each moment, and what that costs: the driver is asked each time, everybody else is looked at when
 * somebody has come or gone, and from time to time.
 */
import { attributeBetween, isOutdated, listedPids } from "../analysis/watch/between_looks.ts";
import { LookBudget } from "../analysis/watch/look_budget.ts";
import { attribute } from "../analysis/attribute.ts";
import type { GpuUuid, Pid } from "../core/ids.ts";
import { type Absent, absent, type Reading } from "../core/reading.ts";
import { type Milliseconds, milliseconds, type Percent } from "../core/units.ts";
import type { DriverReport } from "../model/gpu.ts";
import type { Observation } from "../model/observation.ts";
import type { Snapshot } from "../model/snapshot.ts";
import type { Clock, Observer, ProcessTable } from "../world/ports.ts";

export interface EyesOptions {
  /** How long the driver may take. */
  readonly within: Milliseconds;
  /** How often everybody is looked at though nothing has changed. */
  readonly lookEvery: Milliseconds;
  /** How often the driver is asked how busy its GPUs are: that costs more than everything else that it is asked. */
  readonly utilizationEvery: Milliseconds;
  /** How often a driver is asked again that gave no answer, at first. */
  readonly interval: Milliseconds;
}

/** What was seen at one moment. */
export interface Sight {
  /** The driver's own answer. */
  readonly report: Reading<DriverReport>;
  /** A look at everybody, where this moment had one. */
  readonly observation: Observation | undefined;
  /** The newest answer joined with the newest look. The same object as before where nothing has changed. */
  readonly snapshot: Snapshot;
  /** How long ago that look was. */
  readonly processesAge: Milliseconds;
  /** The last look, at whatever moment. */
  readonly lastLook: Observation;
}

type EyesWorld = {
  readonly observer: Observer;
  readonly clock: Clock;
  readonly processes: Pick<ProcessTable, "findProcess">;
};

/** Longer than this a driver that has come back is not left alone. */
const LONGEST_BACK_OFF_MS = 30_000;

interface Look {
  readonly observation: Observation;
  readonly at: number;
}

/** Sees a machine at one moment after another. */
export class Eyes {
  readonly #options: EyesOptions;
  readonly #world: EyesWorld;
  readonly #budget = new LookBudget();
  readonly #utilization = new Map<GpuUuid, Reading<Percent>>();
  #utilizationAt = -Infinity;
  #look: Look | undefined;
  #report: Reading<DriverReport> | undefined;
  #snapshot: Snapshot | undefined;
  #failures = 0;
  #retryAt = 0;

  constructor(options: EyesOptions, world: EyesWorld) {
    this.#options = options;
    this.#world = world;
  }

  /** Looks, as far as it is time to. Never rejects for a driver that fails or hangs. */
  async see(): Promise<Sight> {
    const { clock, observer } = this.#world;
    const { within, lookEvery, utilizationEvery } = this.#options;
    const at = clock.monotonic();
    const last = this.#look;
    if (last && this.#failures > 0 && at < this.#retryAt) return this.#sight(last);
    if (last === undefined || this.#failures > 0 || at - last.at >= lookEvery) return await this.#observe();
    const withUtilization = at - this.#utilizationAt >= utilizationEvery;
    const report = await observer.sample({ within, withUtilization });
    this.#take(report, withUtilization ? at : undefined);
    if (!report.ok) return this.#sight(last);
    const { scan } = last.observation;
    const isOld = !scan.ok || isOutdated(scan.value, listedPids(report.value), this.#find);
    return isOld && this.#budget.allows(clock.monotonic()) ? await this.#observe() : this.#sight(last);
  }

  readonly #find = (pid: Pid) => this.#world.processes.findProcess(pid);

  async #observe(): Promise<Sight> {
    const { clock, observer } = this.#world;
    const at = clock.monotonic();
    const observation = await observer.observe({ within: this.#options.within, withUtilization: true });
    const now = clock.monotonic();
    this.#budget.spend(now, now - at);
    this.#look = { observation, at };
    this.#snapshot = undefined;
    this.#take(answerOf(observation), at);
    return { ...this.#sight(this.#look), observation };
  }

  #take(report: Reading<DriverReport>, utilizationAt: number | undefined): void {
    if (report.ok) this.#failures = 0;
    else {
      this.#failures++;
      const backOff = Math.min(
        LONGEST_BACK_OFF_MS,
        this.#options.interval * 2 ** Math.min(this.#failures, 20),
      );
      this.#retryAt = this.#world.clock.monotonic() + backOff;
    }
    if (this.#report !== report) this.#snapshot = undefined;
    this.#report = report;
    if (!report.ok || utilizationAt === undefined) return;
    this.#utilizationAt = utilizationAt;
    this.#utilization.clear();
    for (const { uuid, utilization } of report.value.gpus) this.#utilization.set(uuid, utilization);
  }

  #sight({ observation, at }: Look): Sight {
    const report = this.#report ?? absent("not-asked");
    this.#snapshot ??= this.#attribute(observation, report);
    return {
      report,
      observation: undefined,
      snapshot: this.#snapshot,
      processesAge: milliseconds(Math.max(0, this.#world.clock.monotonic() - at)),
      lastLook: observation,
    };
  }

  /** Processes as they were looked at, and the driver's own answer since; what /proc alone says where there is none. */
  #attribute(observation: Observation, report: Reading<DriverReport>): Snapshot {
    const later = { ...observation, takenAt: this.#world.clock.now() };
    if (report.ok) return attributeBetween(later, this.#withUtilization(report.value), this.#find);
    return attribute(observation.source === "proc" ? observation : { ...later, report });
  }

  #withUtilization(report: DriverReport): DriverReport {
    const gpus = report.gpus.map((gpu) => {
      const lately = this.#utilization.get(gpu.uuid);
      const isLeftOut = !gpu.utilization.ok && gpu.utilization.why === "not-asked";
      return isLeftOut && lately !== undefined ? { ...gpu, utilization: lately } : gpu;
    });
    return { ...report, gpus };
  }
}

/** What the driver itself said in a look: what stands in for its answer is none. */
function answerOf({ source, report, problems }: Observation): Reading<DriverReport> {
  if (source !== "proc") return report;
  return problems.find(({ subject }) => subject === "driver")?.reason ?? NO_ANSWER;
}

const NO_ANSWER: Absent = absent("failed", "the driver gave no answer");
