/** Looks at the driver while a job runs and while its memory comes back. */
import { SettleWatch } from "../analysis/diff_settle.ts";
import { UsageTally } from "../analysis/diff_usage.ts";
import type { GpuUuid, Pid } from "../core/ids.ts";
import { type Bytes, type Milliseconds, milliseconds } from "../core/units.ts";
import type { SettleEnd } from "../model/diff.ts";
import { contextsOf, type Gpu } from "../model/gpu.ts";
import type { JobPhase, JobSample } from "../model/job_sample.ts";
import type { Clock, LookOptions, Sampler } from "../world/ports.ts";
import type { Alarm } from "./alarm.ts";
import { JobMembers, type MembersWorld } from "./job_members.ts";

export interface WatchOptions {
  readonly look: LookOptions;
  readonly interval: Milliseconds;
  readonly settle: Milliseconds;
  readonly tolerance: Bytes;
  /** Is shown every sample, with what is known of it. */
  readonly onSample: ((sample: JobSample) => void) | undefined;
  /** Is told, once a wait, that memory is not back at once, and how long it is waited for at most. */
  readonly onWait?: (purpose: string, atMost: Milliseconds) => void;
}

export type WatchWorld = MembersWorld & { readonly clock: Clock; readonly sampler: Sampler };

/** A wait as short as this is none to a person. */
const PROMPT_MS = 500;
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 250;
/** A job may be over before the first interval is: the looks begin close together, each pause twice the last one. */
const FIRST_INTERVAL_MS = 10;
/** However long a look took, the next one leaves the machine this share of the interval. */
const SHORTEST_REST = 0.1;

/** The watch over one job. All its times count from the start of the job. */
export class JobWatch {
  readonly members: JobMembers;
  readonly tally: UsageTally;
  readonly #startedAt: Milliseconds;
  readonly #before: readonly Gpu[];
  readonly #options: WatchOptions;
  readonly #world: WatchWorld;

  constructor(
    start: { readonly ownPid: Pid; readonly startedAt: Milliseconds; readonly gpus: readonly Gpu[] },
    options: WatchOptions,
    world: WatchWorld,
  ) {
    const listed = start.gpus.flatMap(({ processList }) => contextsOf(processList).map(({ pid }) => pid));
    this.members = new JobMembers(start.ownPid, listed, world);
    this.tally = new UsageTally(options.tolerance);
    this.#startedAt = start.startedAt;
    this.#before = start.gpus;
    this.#options = options;
    this.#world = world;
  }

  /** Time since the start of the job. */
  get elapsed(): Milliseconds {
    return milliseconds(Math.max(0, this.#world.clock.monotonic() - this.#startedAt));
  }

  /** Samples at the interval until the alarm rings. */
  async sampleUntil(ended: Alarm): Promise<void> {
    let interval: number = FIRST_INTERVAL_MS;
    while (!ended.hasRung) {
      const startedAt = this.elapsed;
      await this.#sample("run");
      interval = Math.min(interval * 2, this.#options.interval);
      const rest = Math.max(interval - (this.elapsed - startedAt), interval * SHORTEST_REST);
      await ended.pause(milliseconds(rest), this.#world.clock);
    }
  }

  /**
   * Waits until the memory of some GPUs is back, or does not come back, or the alarm rings. Looks often at first:
   * most memory is back within 200 ms.
   */
  async settle(
    phase: JobPhase,
    gpus: ReadonlySet<GpuUuid>,
    interrupted: Alarm,
  ): Promise<{ readonly watch: SettleWatch; readonly end: SettleEnd; readonly took: Milliseconds }> {
    const watch = new SettleWatch({
      before: this.#before.filter(({ uuid }) => gpus.has(uuid)),
      tolerance: this.#options.tolerance,
      isTouched: (uuid) => this.#isTouched(uuid),
      isJobs: this.members.isJobs,
    });
    const startedAt = this.elapsed;
    let hasTold = false;
    const finish = (end: SettleEnd) => ({ watch, end, took: milliseconds(this.elapsed - startedAt) });
    for (let pause = FIRST_PAUSE_MS;; pause = Math.min(pause * 1.5, LONGEST_PAUSE_MS)) {
      const state = watch.add(await this.#sample(phase));
      if (state !== "waiting") return finish(state);
      if (interrupted.hasRung) return finish("interrupted");
      if (!hasTold && this.elapsed - startedAt >= PROMPT_MS) {
        hasTold = true;
        this.#options.onWait?.("the memory to come back", this.#options.settle);
      }
      const left = this.#options.settle - (this.elapsed - startedAt);
      if (left <= 0) return finish("limit");
      await interrupted.pause(milliseconds(Math.min(pause, left)), this.#world.clock);
    }
  }

  /** Whether the job may have used a GPU: a context of its was listed there, or nobody could tell. */
  #isTouched(uuid: GpuUuid): boolean {
    const { jobPeak } = this.tally.useOf(uuid);
    return !jobPeak.ok || jobPeak.value > 0;
  }

  async #sample(phase: JobPhase): Promise<JobSample> {
    const report = await this.#world.sampler.sample(this.#options.look);
    const sample: JobSample = { phase, at: this.elapsed, report, isJobs: this.members.isJobs };
    if (report.ok) this.members.place(report.value);
    this.tally.add(sample, sample.isJobs);
    this.#options.onSample?.(sample);
    return sample;
  }
}
