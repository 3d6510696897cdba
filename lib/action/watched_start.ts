/** How every command begins that runs a job: look at the machine, get ready to sample, start the job. */
import type { Milliseconds } from "../core/units.ts";
import type { LiveSource } from "../model/source_choice.ts";
import type { Job, JobRunner, LookOptions, Sampler, StartFailure, World } from "../world/ports.ts";
import { SignalRelay } from "./job_signals.ts";

/** What is settled once the machine has been looked at. */
export interface Preparation {
  /** Variables that the command gets on top of ours. */
  readonly variables: Readonly<Record<string, string>>;
}

export interface WatchedStartOptions<Seen, Prepared extends Preparation> {
  readonly command: readonly string[];
  readonly source: LiveSource;
  readonly look: LookOptions;
  /** The look that the job waits for. Where it rejects, the job is not started. */
  readonly lookBefore: () => Promise<Seen>;
  /** @throws {GpuctlError} if the machine is not one for this job; it is not started then. */
  readonly prepare: (seen: Seen) => Prepared;
}

export type WatchedStartWorld = Pick<World, "clock" | "openSampler" | "catchSignals"> & {
  readonly runner: JobRunner;
};

/** A job that runs, and what it is watched with. To be disposed of when the last word on it has been said. */
export interface WatchedJob<Seen, Prepared> extends AsyncDisposable {
  readonly job: Job;
  readonly seen: Seen;
  readonly prepared: Prepared;
  readonly startedAt: Milliseconds;
  readonly sampler: Sampler;
  /** Settles when a signal says that nobody wants to wait any longer, once the job itself has ended. */
  readonly interrupted: Promise<void>;
}

/** Starts a job. The look is what it waits for; the sampler's helper starts the driver meanwhile. */
export async function startWatched<Seen, Prepared extends Preparation>(
  { command, source, look, lookBefore, prepare }: WatchedStartOptions<Seen, Prepared>,
  { clock, openSampler, catchSignals, runner }: WatchedStartWorld,
): Promise<WatchedJob<Seen, Prepared> | StartFailure> {
  const looking = lookBefore();
  looking.catch(() => {}); // It is told of below, where the sampler is there to be closed.
  const sampler = await openSampler(source);
  let relay: SignalRelay | undefined;
  const close = async () => {
    relay?.[Symbol.dispose]();
    await sampler[Symbol.asyncDispose]();
  };
  try {
    const warmUp = sampler.sample(look);
    const seen = await looking;
    const prepared = prepare(seen);
    relay = new SignalRelay(catchSignals);
    const startedAt = clock.monotonic();
    const job = runner.start(command, prepared.variables);
    if (!("identity" in job)) {
      await close();
      return job;
    }
    relay.follow(job);
    await warmUp;
    const { interrupted } = relay;
    return { job, seen, prepared, startedAt, sampler, interrupted, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}
