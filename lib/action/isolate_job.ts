/** Runs a command, watches every GPU until the last of its processes has gone, and judges where it was. */
import { newlyAccounted } from "../analysis/accounted.ts";
import { judgeIsolation } from "../analysis/isolation.ts";
import type { Whose } from "../analysis/isolation_input.ts";
import type { Finding } from "../analysis/lint/finding.ts";
import type { GpuUuid, Pid } from "../core/ids.ts";
import { type Absent, absent, known } from "../core/reading.ts";
import { plural } from "../core/text.ts";
import { type Bytes, bytes, type Milliseconds, milliseconds } from "../core/units.ts";
import type { AccountedProcess } from "../model/accounting.ts";
import type { ChildEnd } from "../model/diff.ts";
import type { DriverReport } from "../model/gpu.ts";
import type { AllowedDevice, IsolationVerdict } from "../model/isolation.ts";
import type { Observation } from "../model/observation.ts";
import type { LiveSource } from "../model/source_choice.ts";
import type { Job, JobRunner, LookOptions, Sampler, StartFailure, World } from "../world/ports.ts";
import { Alarm } from "./alarm.ts";
import { Census } from "./census.ts";
import { answered, hidesRows, patienceOf } from "./first_look.ts";
import { FrameworkWatch } from "./framework_watch.ts";
import { IsolationEvidence, type IsolationWorld, showsJob } from "./isolation_watch.ts";
import { endJob, livingOf } from "./job_end.ts";
import { JobWatch } from "./job_watch.ts";
import { watchUses } from "./use_watch.ts";
import { type Preparation, startWatched } from "./watched_start.ts";

/** What is settled once the machine has been looked at. */
export interface IsolationPreparation extends Preparation {
  readonly allowed: readonly AllowedDevice[];
}

export interface IsolateJobOptions {
  readonly command: readonly string[];
  readonly source: LiveSource;
  readonly threshold: Bytes;
  /** Whether the job is to have its GPUs for itself. */
  readonly isExclusive: boolean;
  readonly timeout: Milliseconds | undefined;
  /** Between two looks, at most: the first ones come closer together. */
  readonly interval: Milliseconds;
  readonly look: LookOptions;
  /** What reading the program's source has found. */
  readonly lint: readonly Finding[];
  /** @throws {GpuctlError} if the machine is not one for this job; it is not started then. */
  readonly prepare: (machine: DriverReport) => IsolationPreparation;
}

export type IsolateJobWorld =
  & IsolationWorld
  & Pick<
    World,
    | "clock"
    | "processes"
    | "details"
    | "observe"
    | "openSampler"
    | "openUses"
    | "openPopulation"
    | "catchSignals"
  >
  & { readonly runner: JobRunner };

/** How the command ended, and where it was. */
export interface IsolatedJob {
  readonly end: ChildEnd;
  readonly hasTimedOut: boolean;
  readonly simulated: boolean;
  readonly isolation: IsolationVerdict;
}

/** How often it is looked whether the last process of the job has gone. */
const GONE_INTERVAL = milliseconds(50);
/** How long SIGTERM has before SIGKILL, once the time is up. */
const GRACE = milliseconds(10_000);

/**
 * Runs a job and judges it.
 *
 * @throws {GpuctlError} `unavailable` if the driver gives no answer before the job; it is not started then.
 */
export async function isolateJob(
  options: IsolateJobOptions,
  world: IsolateJobWorld,
): Promise<IsolatedJob | StartFailure> {
  using uses = await world.openUses(options.source);
  using population = await world.openPopulation();
  const lookFirst = () => lookBefore(options, world);
  const started = await startWatched({
    ...options,
    lookBefore: lookFirst,
    prepare: ({ report }) => options.prepare(report),
  }, world);
  if ("message" in started) return started;
  await using watched = started;
  const { job, startedAt, sampler, seen: { observation, report: machine }, prepared: { allowed } } = watched;
  const evidence = new IsolationEvidence({ hidesRows: hidesRows(observation) }, world);
  const census = new Census(observation.scan.ok ? observation.scan.value : undefined, population);
  const met: Promise<void>[] = [];
  const running = new FrameworkWatch(world.details);
  const { promise: givenUp, resolve: giveUp } = Promise.withResolvers<void>();
  const gone = untilGone(job, new Alarm(Promise.race([watched.interrupted, givenUp])), world);
  const watch = new JobWatch(
    { ownPid: world.runner.ownPid, startedAt, gpus: machine.gpus },
    {
      look: options.look,
      interval: options.interval,
      settle: milliseconds(0),
      tolerance: bytes(0),
      onSample: (sample) => {
        // A first look that the job did not outlive may have come too late to see any of it.
        const isInTime = evidence.tally.looks > 0 || showsJob(sample) ||
          world.runner.hasDescendants();
        if (isInTime) evidence.add(sample);
        if (sample.report.ok) running.add(sample.report.value, { allowed, isJobs: sample.isJobs });
        if (sample.report.ok) met.push(census.meet(sample.report.value));
      },
    },
    { ...world, sampler },
  );
  const [run] = await Promise.all([
    follow({ job, gone, giveUp, watch }, options.timeout, world),
    watchUses(evidence.noteUses, new Alarm(gone), {
      clock: world.clock,
      uses,
      listProcesses: () => livingOf(world).map(({ pid }) => pid),
    }),
  ]);
  await Promise.all(met);
  evidence.tally.end(watch.elapsed);
  const used = await readAccounts(machine, sampler, options.look);
  watch.members.placeUnlisted([...used.values()].flat().map(({ pid }) => pid));
  for (const [uuid, processes] of used) evidence.tally.addAccounted(uuid, processes);
  const isolation = judgeIsolation({
    ...{ allowed, machine, lint: options.lint, threshold: options.threshold },
    isExclusive: options.isExclusive,
    findOther: census.find,
    patience: patienceOf(options),
    baseline: evidence.admit(known(machine)),
    tally: evidence.tally,
    processes: evidence.processes,
    whose: (pid) => evidence.family.has(pid) ? "job" : whoseOf(pid, watch),
    untold: run.left,
    frameworks: running.frameworks,
  });
  const { command } = options;
  const { end, hasTimedOut, ranFor } = run;
  return {
    ...{ end, hasTimedOut, simulated: observation.simulated },
    isolation: { job: { command, end, hasTimedOut, ranFor }, ...isolation },
  };
}

async function lookBefore(
  { source, look }: IsolateJobOptions,
  { observe }: IsolateJobWorld,
): Promise<{ readonly observation: Observation; readonly report: DriverReport }> {
  const observation = await observe(source, { ...look, withAccounting: true });
  return { observation, report: answered(observation, "the command was not started") };
}

interface Run {
  readonly end: ChildEnd;
  readonly hasTimedOut: boolean;
  readonly ranFor: Milliseconds;
  /** Why the watch ended before the job's last process did; `undefined` if it did not. */
  readonly left: Absent | undefined;
}

/** Samples until nothing of the job runs any more, or was ended when its time was up. */
async function follow(
  { job, gone, giveUp, watch }: {
    readonly job: Job;
    readonly gone: Promise<Absent | undefined>;
    /** Ends the wait for what could not be ended. */
    readonly giveUp: () => void;
    readonly watch: JobWatch;
  },
  timeout: Milliseconds | undefined,
  world: IsolateJobWorld,
): Promise<Run> {
  let hasTimedOut = false;
  let ranFor = watch.elapsed;
  const ended = job.ended.then((end) => {
    ranFor = watch.elapsed;
    return end;
  });
  const limit = timeout === undefined ? undefined : (async () => {
    const alarm = new Alarm(gone);
    await alarm.pause(timeout, world.clock);
    if (alarm.hasRung) return;
    hasTimedOut = true;
    await endJob(GRACE, world);
    giveUp();
  })();
  await watch.sampleUntil(new Alarm(gone));
  if (hasTimedOut) await limit;
  return { end: await ended, hasTimedOut, ranFor, left: await gone };
}

/**
 * Settles once nothing of the job runs any more, its children that outlive the command included, or nobody wants to wait
 * for them any longer: then with the reason why not all was seen.
 */
async function untilGone(job: Job, interrupted: Alarm, world: IsolateJobWorld): Promise<Absent | undefined> {
  await job.ended;
  for (;;) {
    if (!world.runner.hasDescendants()) return undefined;
    if (interrupted.hasRung) {
      // One that passes the job on to another may be missed by a list, and is one all the same.
      const those = plural(Math.max(1, livingOf(world).length), "process", "processes");
      return absent("not-asked", `${those} of it still ran when the watch ended`);
    }
    await interrupted.pause(GONE_INTERVAL, world.clock);
  }
}

/** Who has used each GPU since the machine was looked at, where the driver keeps account of it. */
async function readAccounts(
  machine: DriverReport,
  sampler: Sampler,
  look: LookOptions,
): Promise<ReadonlyMap<GpuUuid, readonly AccountedProcess[]>> {
  // Where no account was kept before the job, none is asked for after it.
  if (machine.gpus.every(({ accounting }) => accounting?.ok !== true)) return new Map();
  const after = await sampler.sample({ ...look, withAccounting: true });
  return after.ok ? newlyAccounted(machine.gpus, after.value.gpus) : new Map();
}

function whoseOf(pid: Pid, { members }: JobWatch): Whose {
  if (members.members.has(pid)) return "job";
  return members.unplaced.has(pid) ? "unknown" : "other";
}
