/** Judges by a file of rules whether everybody on the machine keeps to their GPUs. */
import { findGivenToContainer, findGivenToSlurmJob, type Given } from "../analysis/given_devices.ts";
import { judgeByRules } from "../analysis/isolation_by_rules.ts";
import { type IsolationRules, resolveRules } from "../analysis/isolation_rules.ts";
import type { Pid } from "../core/ids.ts";
import { absent, known } from "../core/reading.ts";
import type { Bytes } from "../core/units.ts";
import type { DriverReport } from "../model/gpu.ts";
import type { RuleFile } from "../model/isolation_rules.ts";
import type { DeviceUse } from "../model/observation.ts";
import type { Owner, Process } from "../model/process.ts";
import type { Population } from "../world/ports.ts";
import { findMembers, type MembersWorld } from "./find_members.ts";
import type { IsolatedRunning } from "./isolate_running.ts";
import {
  type RunningWatchOptions,
  type RunningWatchWorld,
  type SeenMachine,
  watchRunning,
} from "./running_watch.ts";

export interface IsolateMachineOptions extends RunningWatchOptions {
  readonly file: RuleFile;
  readonly threshold: Bytes;
  /** @throws {GpuctlError} if the file makes no sense for this machine */
  readonly check: (rules: IsolationRules) => void;
}

export type IsolateMachineWorld = RunningWatchWorld & MembersWorld & {
  readonly population: Population;
};

/**
 * Judges everybody with a context.
 *
 * @throws {GpuctlError} `unavailable` if the driver gives no answer
 */
export async function isolateMachine(
  options: IsolateMachineOptions,
  world: IsolateMachineWorld,
): Promise<IsolatedRunning> {
  const seen = await watchRunning({
    ...options,
    prepare({ gpus }) {
      const { population } = world;
      const users = population.readUsers();
      const rules = resolveRules(options.file, { gpus, users, groups: population.readGroups() });
      options.check(rules);
      return rules;
    },
  }, world);
  const { machine, baseline, tally, census, untold, patience, remarks, observation, prepared: rules } = seen;
  const uses = observation.scan.ok ? observation.scan.value.uses : new Map<Pid, readonly DeviceUse[]>();
  const isolation = judgeByRules({
    ...{ machine, baseline, tally, untold, patience, remarks, rules, threshold: options.threshold },
    seen: census,
    processes: census.processes.map((process) => {
      const used = uses.get(process.pid);
      return { process, uses: used === undefined ? absent("not-reported") : known(used) };
    }),
    given: await givenOn(seen, world),
  });
  return { simulated: observation.simulated, isolation };
}

/** What jobs and containers were given, read from all their processes where a rule asks for that. */
async function givenOn(
  { prepared: { rules }, census, machine }: SeenMachine<IsolationRules>,
  world: MembersWorld,
): Promise<(process: Process) => Given> {
  const isAsked = rules.some(({ allowance }) => allowance.kind === "given");
  const wanted = new Set(
    isAsked ? census.processes.flatMap(({ owner }) => owner.ok ? keyOf(owner.value) : []) : [],
  );
  const members = wanted.size === 0 ? [] : await findMembers(
    (owner) => owner.ok && keyOf(owner.value).some((key) => wanted.has(key)),
    world,
  );
  // Some may have ended since they were listed.
  const everybody = new Map([...census.processes, ...members].map((process) => [process.pid, process]));
  return (process) => findGiven(process, [...everybody.values()], machine);
}

function findGiven(process: Process, everybody: readonly Process[], machine: DriverReport): Given {
  const [key] = process.owner.ok ? keyOf(process.owner.value) : [];
  if (key === undefined) return { isKnown: false, why: "it is in no Slurm job and no container" };
  const members = everybody.filter(({ owner }) => owner.ok && keyOf(owner.value).includes(key));
  return process.owner.ok && process.owner.value.slurmJob !== undefined
    ? findGivenToSlurmJob(members, machine)
    : findGivenToContainer(members, machine);
}

/** What a process was given its GPUs as: a Slurm job, or else a container. */
function keyOf({ slurmJob, container }: Owner): readonly string[] {
  if (slurmJob !== undefined) return [`job ${slurmJob}`];
  return container === undefined || container.isMonitor ? [] : [`container ${container.id}`];
}
