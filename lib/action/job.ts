/** Runs a command between two looks, samples meanwhile, and says what came of the memory. */
import { attribute } from "../analysis/attribute.ts";
import { admitHiddenRows } from "../analysis/diff_hidden.ts";
import { explainHabits, type FrameworkUse } from "../analysis/diff_habits.ts";
import { diffJob } from "../analysis/diff_job.ts";
import { GpuctlError } from "../core/errors.ts";
import type { GpuUuid } from "../core/ids.ts";
import { type Absent, absent, formatAbsent, mapReading } from "../core/reading.ts";
import { plural } from "../core/text.ts";
import { formatDuration, type Milliseconds } from "../core/units.ts";
import type { ChildEnd, JobDiff } from "../model/diff.ts";
import type { Snapshot } from "../model/snapshot.ts";
import type { LiveSource } from "../model/source_choice.ts";
import type { AuditLog, Job, JobRunner, StartFailure, World } from "../world/ports.ts";
import { Alarm } from "./alarm.ts";
import { cleanLeftovers } from "./job_cleanup.ts";
import { endJob, livingOf } from "./job_end.ts";
import { JobWatch, type WatchOptions } from "./job_watch.ts";
import { type Preparation, startWatched } from "./watched_start.ts";

/** What is settled once the machine has been looked at. */
export interface JobPreparation extends Preparation {
  /** The GPUs to judge. */
  readonly gpus: ReadonlySet<GpuUuid>;
}

export interface JobOptions extends WatchOptions {
  readonly command: readonly string[];
  readonly source: LiveSource;
  readonly timeout: Milliseconds | undefined;
  readonly grace: Milliseconds;
  /** Where ending the leftovers is recorded; absent when they are to be left alone. */
  readonly audit: AuditLog | undefined;
  /** @throws {GpuctlError} if the machine is not one for this job; it is not started then. */
  readonly prepare: (before: Snapshot) => JobPreparation;
}

export interface JobWorld
  extends Pick<World, "clock" | "processes" | "details" | "observe" | "openSampler" | "catchSignals"> {
  readonly runner: JobRunner;
}

/**
 * Runs a job and judges it.
 *
 * @throws {GpuctlError} `unavailable` if the driver gives no answer before the job; it is not started then.
 */
export async function runJob(options: JobOptions, world: JobWorld): Promise<JobDiff | StartFailure> {
  const lookFirst = () => lookBefore(options, world);
  const started = await startWatched({ ...options, lookBefore: lookFirst }, world);
  if ("message" in started) return started;
  await using watched = started;
  const { job, seen: before, prepared: { gpus }, startedAt, sampler } = watched;
  const start = { ownPid: world.runner.ownPid, startedAt, gpus: before.gpus.map(({ gpu }) => gpu) };
  const watch = new JobWatch(start, options, { ...world, sampler });
  const scene: Scene = { options, world, watch, before, gpus };
  const run = await follow(job, scene);
  return await conclude(run, new Alarm(watched.interrupted), scene);
}

interface Scene {
  readonly options: JobOptions;
  readonly world: JobWorld;
  readonly watch: JobWatch;
  readonly before: Snapshot;
  readonly gpus: ReadonlySet<GpuUuid>;
}

interface Run {
  readonly end: ChildEnd;
  readonly ranFor: Milliseconds;
  readonly hasTimedOut: boolean;
}

async function lookBefore({ source, look }: JobOptions, { observe }: JobWorld): Promise<Snapshot> {
  const before = admitHiddenRows(attribute(await observe(source, look)));
  const silence = driverSilence(before);
  if (silence === undefined) return before;
  throw new GpuctlError(
    "unavailable",
    `Cannot look before the command as the driver gave no answer: ${formatAbsent(silence)}`,
    { hint: "the command was not started; gpuctl snapshot says what can be seen" },
  );
}

/** Why the driver said nothing, if it did not: GPUs that only the kernel names have no memory to compare. */
function driverSilence({ driver, source, problems }: Snapshot): Absent | undefined {
  if (!driver.ok) return driver;
  if (source !== "proc") return undefined;
  return problems.find(({ subject }) => subject === "driver")?.reason ?? absent("not-reported");
}

/** Samples until the command has ended, or was ended when its time was up. */
async function follow(job: Job, { options, world, watch }: Scene): Promise<Run> {
  let ranFor = watch.elapsed;
  const ended = job.ended.then((end) => {
    ranFor = watch.elapsed;
    return end;
  });
  let hasTimedOut = false;
  const limit = options.timeout === undefined ? undefined : (async (timeout) => {
    const alarm = new Alarm(ended);
    await alarm.pause(timeout, world.clock);
    if (alarm.hasRung) return;
    hasTimedOut = true;
    await endJob(options.grace, world);
  })(options.timeout);
  await watch.sampleUntil(new Alarm(ended));
  // What escaped has its grace as well, and is part of what the time ran out for.
  if (hasTimedOut) await limit;
  return { end: await ended, ranFor, hasTimedOut };
}

/** Waits for the memory, looks again and judges; ends the leftovers where that was asked for. */
async function conclude(run: Run, interrupted: Alarm, scene: Scene): Promise<JobDiff> {
  const { options, world, watch, before, gpus } = scene;
  const settled = await watch.settle("settle", gpus, interrupted);
  const last = await world.observe(options.source, options.look);
  const after = admitHiddenRows(attribute(last));
  const alive = livingOf(world).map((process) => watch.members.enrol(process));
  const { command, interval, tolerance, audit } = options;
  const diff = diffJob({
    ...run,
    ...{ command, interval, tolerance, gpus, before, after, alive },
    settledFor: settled.took,
    settleEnd: settled.end,
    tally: watch.tally,
    watch: settled.watch,
    membership: watch.members,
    notes: [],
  });
  const explained = { ...diff, notes: [...diff.notes, ...notesOn(diff, watch)] };
  if (audit === undefined || !diff.leftovers.some(({ isJobs }) => isJobs)) return explained;
  const cleanup = await cleanLeftovers(
    diff.leftovers,
    { before, after, watch, gpus, interrupted, audit, by: mapReading(last.scan, ({ reader }) => reader) },
    options,
    world,
  );
  return { ...explained, cleanup };
}

function notesOn({ gpus, interval }: JobDiff, { tally, members }: JobWatch): string[] {
  const released = new Set(gpus.filter(({ verdict }) => verdict.kind === "released").map(({ uuid }) => uuid));
  const uses = [...tally.processes].flatMap(([pid, onGpus]) =>
    [...onGpus].filter(([uuid]) => released.has(uuid))
      .map(([, use]): FrameworkUse => ({ pid, framework: members.frameworks.get(pid), use }))
  );
  const notes = explainHabits(uses);
  if (tally.missed > 0) {
    notes.push(`${plural(tally.missed, "sample")} had no answer: a peak may have been missed.`);
  }
  if (members.unplaced.size > 0) {
    notes.push(
      `PID ${[...members.unplaced].join(", ")} came and went within ${
        formatDuration(interval)
      }: whose it was is inferred from what it left.`,
    );
  }
  return notes;
}
