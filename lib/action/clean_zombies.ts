/** The whole of a cleaning: judge, wait, judge again, and only then act, under a lock and on the record. */
import { judgeSight } from "../analysis/cleaning_sight.ts";
import {
  bytesOfActs,
  type EndingPlan,
  type EndingPolicy,
  planEnding,
  type TimedJudgement,
} from "../analysis/ending.ts";
import { type IdleRecord, idleSpans, parseIdleRecords, updateIdleRecords } from "../analysis/idle.ts";
import { judgeHolders } from "../analysis/judge.ts";
import { GpuctlError } from "../core/errors.ts";
import { known } from "../core/reading.ts";
import type { GpuIndex, GpuUuid } from "../core/ids.ts";
import { bytes, type Milliseconds, milliseconds } from "../core/units.ts";
import { attribute } from "../analysis/attribute.ts";
import type { AuditScene } from "../model/audit.ts";
import type { Cleanup } from "../model/cleanup.ts";
import type { DriverReport, Gpu } from "../model/gpu.ts";
import type { Observation } from "../model/observation.ts";
import type { Ghost, Snapshot } from "../model/snapshot.ts";
import type { LiveSource } from "../model/source_choice.ts";
import type { AuditLog, LookOptions, World } from "../world/ports.ts";
import { refuseUnknownNames } from "./cleaning_names.ts";
import { endOnRecord, plannedAct } from "./end_on_record.ts";
import { FORCED_GRACE } from "./end_process.ts";

export interface CleaningOptions {
  readonly source: LiveSource;
  /** The policy for the GPUs that there are. */
  readonly policy: (gpus: readonly Gpu[]) => EndingPolicy;
  readonly look: LookOptions;
  readonly confirm: Milliseconds;
  readonly grace: Milliseconds;
  readonly settle: Milliseconds;
  /** Only holders that used neither processor nor GPU for so long, over several runs. */
  readonly idleFor: Milliseconds | undefined;
  readonly isPlan: boolean;
  /** Told before it waits, and for how long at most. */
  readonly onWait?: (purpose: string, atMost: Milliseconds) => void;
}

export type CleaningWorld =
  & Pick<World, "clock" | "processes" | "observe" | "openSampler" | "openPopulation" | "locks" | "notes">
  & { readonly audit: AuditLog };

/**
 * Plans a cleaning and, unless it is only a plan, carries it out.
 *
 * @throws {GpuctlError} `refused` in a PID namespace that is not the machine's, while another run is at work, or when
 * the record cannot be written; `unavailable` when the driver gives no answer, or when a process or user that was named
 * is not there.
 */
export async function cleanZombies(options: CleaningOptions, world: CleaningWorld): Promise<Cleanup> {
  using _lock = options.isPlan ? undefined : takeCleaningLock(options, world);
  const first = await observeWhole(options, world);
  refuseForeignNamespace(first);
  const policy = withIdleSpans(options.policy(first.report.gpus), first, options, world);
  await refuseUnknownNames(policy, first.snapshot, world);
  const opening = planEnding(first.timed, first.timed, policy);
  // Nothing to confirm where nothing was found: a clean machine costs one look.
  if (opening.acts.length === 0) {
    return summarise(options, first.snapshot, {
      acts: [],
      heldBytes: bytes(0),
      kept: opening.kept,
      ...unseenAt(first, policy),
      policy,
    });
  }
  options.onWait?.("the second of the two judgements", options.confirm);
  await world.clock.pause(options.confirm);
  const second = await observeWhole(options, world);
  const plan = planEnding(first.timed, second.timed, policy);
  const planned = {
    heldBytes: bytesOfActs(plan.acts),
    kept: plan.kept,
    ...unseenAt(second, policy),
    policy,
  };
  if (options.isPlan || plan.acts.length === 0) {
    const acts = plan.acts.map(plannedAct);
    return summarise(options, second.snapshot, { acts, ...planned });
  }
  const { snapshot: { host, simulated }, timed: { scan } } = second;
  options.onWait?.("the processes to end and free memory", longestWait(plan.acts, options));
  const scene: AuditScene = { by: known(scan.reader), bootId: host.bootId, simulated };
  const acts = await endOnRecord(plan.acts, scene, options, world);
  const after = attribute(await world.observe(options.source, options.look));
  return summarise(options, after, { acts, ...planned });
}

/** As long as it takes where everybody is stubborn: those at one depth are ended together. */
function longestWait(
  acts: EndingPlan["acts"],
  { grace, settle }: Pick<CleaningOptions, "grace" | "settle">,
): Milliseconds {
  const waves = new Set(acts.map(({ depth }) => depth)).size;
  return milliseconds(waves * (grace + FORCED_GRACE) + settle);
}

/** Adds how long each holder has been idle, when that is asked for, and leaves a record for the next run. */
function withIdleSpans(
  policy: EndingPolicy,
  { timed, snapshot }: WholeLook,
  { idleFor, source }: CleaningOptions,
  { notes }: CleaningWorld,
): EndingPolicy {
  if (idleFor === undefined) return policy;
  const { bootId } = snapshot.host;
  if (!bootId.ok) {
    throw new GpuctlError(
      "unavailable",
      "Cannot tell how long holders have been idle: the boot id cannot be read",
    );
  }
  const text = notes.read("idle", source);
  const records = updateIdleRecords(text === undefined ? [] : readRecords(text), timed, bootId.value);
  notes.write("idle", source, JSON.stringify(records));
  return { ...policy, idle: { for: idleFor, spans: idleSpans(records) } };
}

/** Records that cannot be read are none: idle time then begins anew, which ends nothing too early. */
function readRecords(text: string): IdleRecord[] {
  try {
    return parseIdleRecords(text);
  } catch (error) {
    if (error instanceof SyntaxError) return [];
    throw error;
  }
}

function summarise(
  { isPlan }: CleaningOptions,
  { takenAt, simulated, ghosts, problems }: Snapshot,
  { policy, ...done }: Pick<Cleanup, "acts" | "heldBytes" | "kept" | "unreadGpus" | "sight"> & {
    readonly policy: EndingPolicy;
  },
): Cleanup {
  const acted = new Set(done.acts.map(({ pid }) => pid));
  const unexplained = ghosts.filter(({ gpu, likelyHolders }: Ghost) => {
    if (!isChosen(gpu, policy)) return false;
    const isOurs = likelyHolders.some(({ pid }) => acted.has(pid));
    // Who named some processes did not ask about what others keep, unless a GPU was named as well: that is to be free.
    const isOthers = isNarrowed(policy) && policy.gpus === undefined && likelyHolders.length > 0 && !isOurs;
    return !(isPlan && isOurs) && !isOthers;
  });
  return { takenAt, simulated, isPlan, ...done, ghosts: unexplained, problems };
}

function isNarrowed({ pids, users, container, slurmJob, unit, cgroup }: EndingPolicy): boolean {
  return [pids, users, container, slurmJob, unit, cgroup].some((part) => part !== undefined);
}

/** What the look that a result rests on has left unseen. */
function unseenAt(look: WholeLook, policy: EndingPolicy): Pick<Cleanup, "unreadGpus" | "sight"> {
  const { timed, report } = look;
  return { unreadGpus: findUnread(look, policy), sight: judgeSight({ ...timed, gpus: report.gpus }, policy) };
}

function findUnread({ report: { gpus, unreadableGpus } }: WholeLook, policy: EndingPolicy): GpuIndex[] {
  const unlisted = gpus.filter(({ uuid, processList }) =>
    processList.state !== "known" && isChosen(uuid, policy)
  );
  // One that has fallen off the bus has no UUID to be chosen by: whoever chose others did not mean it.
  const lost = policy.gpus === undefined ? unreadableGpus : [];
  return [...unlisted, ...lost].map(({ index }) => index);
}

function isChosen(uuid: GpuUuid, { gpus }: EndingPolicy): boolean {
  return gpus === undefined || gpus.has(uuid);
}

interface WholeLook {
  readonly timed: TimedJudgement;
  readonly snapshot: Snapshot;
  readonly report: DriverReport;
}

async function observeWhole(
  { source, look }: CleaningOptions,
  { observe }: CleaningWorld,
): Promise<WholeLook> {
  const observation: Observation = await observe(source, look);
  const { report, scan, problems } = observation;
  // The kernel's own list of the GPUs stands in for a driver that is silent; it says nothing of who uses them.
  const silence = problems.find(({ subject }) => subject === "driver")?.reason;
  if (!report.ok || !scan.ok || silence) {
    const reason = silence ?? (report.ok ? scan : report);
    const detail = reason.ok ? undefined : reason.detail;
    throw new GpuctlError(
      "unavailable",
      `Cannot judge the holders: ${detail ?? "the driver gave no answer"}`,
      { hint: "gpuctl snapshot shows what can be seen without it" },
    );
  }
  const judgement = judgeHolders(report.value, scan.value);
  return {
    timed: { judgement, scan: scan.value, ticks: observation.ticks },
    snapshot: attribute(observation),
    report: report.value,
  };
}

function refuseForeignNamespace({ timed: { scan: { reader } } }: WholeLook): void {
  if (reader.isInitialPidNamespace.ok && reader.isInitialPidNamespace.value) return;
  throw new GpuctlError(
    "refused",
    "Cannot clean from inside a PID namespace: processes outside it cannot be seen or told apart",
    {
      hint:
        "run it on the host, or start the container with the host's PID namespace (docker run --pid=host, hostPID: true)",
    },
  );
}

/** Keeps two runs from ending processes at the same time. @throws {GpuctlError} `refused` while another one is at work */
export function takeCleaningLock(
  { source }: Pick<CleaningOptions, "source">,
  { locks }: Pick<CleaningWorld, "locks">,
): Disposable {
  const lock = locks.acquire("clean-zombies", source);
  if (lock) return lock;
  throw new GpuctlError("refused", "Cannot begin: another gpuctl clean-zombies or reset-gpu is at work", {
    hint: "wait until it has ended",
  });
}
