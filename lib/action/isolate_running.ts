/** Judges where processes are that run already: named ones, or those of a container, a Slurm job, a unit or a user. */
import { findGivenToContainer, findGivenToSlurmJob, type Given } from "../analysis/given_devices.ts";
import { judgeIsolation } from "../analysis/isolation.ts";
import { judgeMembership, type Subject } from "../analysis/isolation_membership.ts";
import type { Finding } from "../analysis/lint/finding.ts";
import { type OwnerNames, whyNotNamed } from "../analysis/selection.ts";
import { GpuctlError } from "../core/errors.ts";
import type { Pid } from "../core/ids.ts";
import { absent, known } from "../core/reading.ts";
import { printable } from "../core/text.ts";
import type { Bytes } from "../core/units.ts";
import type { DriverReport } from "../model/gpu.ts";
import type { AllowedDevice, IsolatedProcess, IsolationVerdict } from "../model/isolation.ts";
import type { DeviceUse } from "../model/observation.ts";
import { isStillRunning, type Process } from "../model/process.ts";
import type { ProcessTable, World } from "../world/ports.ts";
import { findMembers, type MembersWorld } from "./find_members.ts";
import { FrameworkWatch } from "./framework_watch.ts";
import {
  type RunningWatchOptions,
  type RunningWatchWorld,
  type SeenMachine,
  watchRunning,
} from "./running_watch.ts";
import { visibleProcesses } from "./visible_processes.ts";

/** Who is to be judged. */
export type Named =
  | { readonly kind: "pids"; readonly pids: readonly Pid[] }
  | { readonly kind: "owner"; readonly names: OwnerNames };

export interface IsolateRunningOptions extends RunningWatchOptions {
  readonly named: Named;
  readonly threshold: Bytes;
  readonly isExclusive: boolean;
  readonly lint: readonly Finding[];
  /**
   * Gives the devices that were named; without it they are what the container or the Slurm job itself was given.
   *
   * @throws {GpuctlError} if the machine has not what the job is to be on
   */
  readonly allow: ((machine: DriverReport) => readonly AllowedDevice[]) | undefined;
}

export type IsolateRunningWorld = RunningWatchWorld & MembersWorld & Pick<World, "processes" | "details">;

/** A verdict, and whether it is about a simulated server. */
export interface IsolatedRunning {
  readonly simulated: boolean;
  readonly isolation: IsolationVerdict;
}

/**
 * Judges some processes and all that descend from them.
 *
 * @throws {GpuctlError} `unavailable` if one of them is not there, or the driver gives no answer
 */
export async function isolateRunning(
  options: IsolateRunningOptions,
  world: IsolateRunningWorld,
): Promise<IsolatedRunning> {
  const { named, threshold, isExclusive, lint } = options;
  const { subject, members } = await findSubject(named, world);
  const running = new FrameworkWatch(world.details);
  const seen = await watchRunning({
    ...options,
    prepare(machine) {
      // One that ended meanwhile would be taken for one that has no context.
      if (subject.kind === "processes") refuseMissing(subject, world.processes);
      return expectedOf(options, members, machine);
    },
    onReport(report, { prepared: { allowed }, census }) {
      running.add(report, { allowed, isJobs: (pid) => judgeMembership(pid, subject, census) === "job" });
    },
  }, world);
  const { machine, baseline, tally, census, untold, patience, prepared: { allowed, remarks } } = seen;
  const isolation = judgeIsolation({
    ...{ allowed, threshold, machine, baseline, tally, lint, untold, isExclusive, patience },
    hasRunBefore: true,
    processes: processesOf(subject, seen),
    whose: (pid) => judgeMembership(pid, subject, census),
    findOther: census.find,
    frameworks: running.frameworks,
    remarks: [...remarks, ...seen.remarks, ...endedNotes(subject, world.processes)],
  });
  return { simulated: seen.observation.simulated, isolation };
}

interface Found {
  readonly subject: Subject;
  /** The processes that were found by their owner. */
  readonly members: readonly Process[];
}

async function findSubject(named: Named, world: IsolateRunningWorld): Promise<Found> {
  if (named.kind === "pids") {
    const roots = await Promise.all(named.pids.map((pid) => findRoot(pid, world)));
    return {
      subject: { kind: "processes", roots: new Map(roots.map((root) => [root.pid, root])) },
      members: [],
    };
  }
  const { names } = named;
  const { users: _users, ...places } = names;
  const user = absent("not-asked");
  const candidates = await findMembers((owner) => whyNotNamed({ user, owner }, places) === undefined, world);
  const members = candidates.filter((process) => whyNotNamed(process, names) === undefined);
  if (members.length > 0) return { subject: { kind: "owner", names }, members };
  throw new GpuctlError("unavailable", `Cannot judge ${nameOwner(names)}: nothing of it runs here`, {
    hint: names.container === undefined
      ? "gpuctl snapshot --json says of every holder to whom it belongs"
      : "docker, podman and containerd know a container by its id: give at least the first 12 digits of that",
  });
}

/** A process that can be judged: what has no contexts of its own would always be found isolated. */
async function findRoot(
  pid: Pid,
  { population, processes }: Pick<IsolateRunningWorld, "population" | "processes">,
): Promise<Process> {
  const isListed = population.listPids().includes(pid);
  const found = isListed ? await population.readProcess(pid) : undefined;
  if (found !== undefined && isStillRunning(found)) return found;
  if (found !== undefined) throw refusal(pid, "it has ended, and its parent has not taken note of that yet");
  if (visibleProcesses(processes).findProcess(pid) === undefined) {
    throw refusal(
      pid,
      isListed ? "it has just ended, or is hidden from this user" : "there is no such process",
    );
  }
  // Threads are in /proc and in no list of it; the driver lists the process.
  throw refusal(
    pid,
    "that is a thread, not a process",
    `grep Tgid /proc/${pid}/status says of which process`,
  );
}

type Processes = Pick<ProcessTable, "findProcess">;

function refuseMissing({ roots }: Subject & { readonly kind: "processes" }, processes: Processes): void {
  for (const { pid, startTicks } of roots.values()) {
    const found = processes.findProcess(pid);
    if (found?.startTicks !== startTicks) throw refusal(pid, "there is no such process");
    if (!isStillRunning(found)) throw refusal(pid, "it has just ended");
  }
}

function refusal(pid: Pid, state: string, hint?: string): GpuctlError {
  return new GpuctlError("unavailable", `Cannot judge PID ${pid}: ${state}`, { ...hint && { hint } });
}

/** Processes that ended while they were watched are judged by what was seen of them. */
function endedNotes(subject: Subject, processes: Processes): readonly string[] {
  if (subject.kind !== "processes") return [];
  return [...subject.roots.values()].filter((root) => {
    const found = processes.findProcess(root.pid);
    return found?.startTicks !== root.startTicks || !isStillRunning(found);
  }).map(({ pid }) => `PID ${pid} ended during the watch`);
}

interface Expected {
  readonly allowed: readonly AllowedDevice[];
  readonly remarks: readonly string[];
}

/** What the processes are to be on, with the evidence where nobody said so. */
function expectedOf(
  { named, allow }: IsolateRunningOptions,
  members: readonly Process[],
  machine: DriverReport,
): Expected {
  if (allow) return { allowed: allow(machine), remarks: [] };
  const names = named.kind === "owner" ? named.names : {};
  const given = givenTo(names, members, machine);
  if (!given.isKnown) {
    throw new GpuctlError("usage", `Cannot tell which GPUs ${nameOwner(names)} was given: ${given.why}`, {
      hint: "--gpu says which",
    });
  }
  return {
    allowed: given.devices,
    remarks: [`Which GPUs were given is taken from ${given.source}; --gpu would say it for certain`],
  };
}

function givenTo(names: OwnerNames, members: readonly Process[], machine: DriverReport): Given {
  if (names.slurmJob !== undefined) return findGivenToSlurmJob(members, machine);
  if (names.container !== undefined) return findGivenToContainer(members, machine);
  return { isKnown: false, why: "only containers and Slurm jobs are given GPUs of their own" };
}

function processesOf(
  subject: Subject,
  { census, observation }: Pick<SeenMachine<unknown>, "census" | "observation">,
): readonly IsolatedProcess[] {
  const uses = observation.scan.ok ? observation.scan.value.uses : new Map<Pid, readonly DeviceUse[]>();
  return census.processes.filter(({ pid }) => judgeMembership(pid, subject, census) === "job")
    .map((process) => {
      const used = uses.get(process.pid);
      return { process, uses: used === undefined ? absent("not-reported") : known(used) };
    });
}

/** What was named, in words. */
function nameOwner({ slurmJob, container, unit, cgroup, users }: OwnerNames): string {
  return [
    slurmJob === undefined ? [] : `Slurm job ${slurmJob}`,
    container === undefined ? [] : `container ${container}`,
    unit === undefined ? [] : `unit ${unit}`,
    cgroup === undefined ? [] : `cgroup ${cgroup}`,
    users === undefined ? [] : `user ${[...users].join(", ")}`,
  ].flat().map(printable).join(" and ");
}
