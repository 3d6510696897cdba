/** Makes the checks of a diagnosis side by side, each with its deadline. The driver is asked once, for all of them. */
import { attribute } from "../analysis/attribute.ts";
import type { CheckPlan, DoctorFacts, ExaminedProcess, FactName } from "../analysis/doctor/facts.ts";
import { GpuctlError } from "../core/errors.ts";
import type { Pid } from "../core/ids.ts";
import { absent, known, mapReading } from "../core/reading.ts";
import { formatDuration, type Milliseconds, milliseconds } from "../core/units.ts";
import type { Check, Diagnosis } from "../model/doctor.ts";
import type { LiveSource } from "../model/source_choice.ts";
import type { Examination, World } from "../world/ports.ts";

export interface DoctorOptions {
  readonly source: LiveSource;
  readonly checks: readonly CheckPlan[];
  /** How long each check may take. */
  readonly deadline: Milliseconds;
  /** Processes whose variables are judged beside those of the shell. */
  readonly pids: readonly Pid[];
  /** The Python interpreter to look at, in place of those that a shell would start. */
  readonly python: string | undefined;
}

export type DoctorWorld = Pick<World, "clock" | "observe" | "openExamination" | "origins" | "variable">;

/** The driver's part of a deadline: what is left is for ending its helper, and for saying so. */
const DRIVER_SHARE = 0.7;
/** Variables of a shell that bear on GPUs. */
const SHELL_VARIABLES = ["CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES", "SUDO_USER"];

/**
 * Makes the checks. One that has not got what it needs by its deadline is `unknown`; the others do not wait for it.
 *
 * @throws {GpuctlError} if there is no such simulated server
 */
export async function diagnose(options: DoctorOptions, world: DoctorWorld): Promise<Diagnosis> {
  const { clock } = world;
  const start = clock.monotonic();
  const examination = await world.openExamination(options.source);
  const reader = new FactReader(options, { ...world, examination });
  const late = clock.pause(options.deadline);
  // What takes longest is asked for first: the rest is read while the driver thinks.
  reader.start(options.checks.flatMap(({ reads }) => reads));
  const checks = await Promise.all(options.checks.map(async (plan): Promise<Check> => {
    await Promise.race([reader.settled(plan.reads), late]);
    const { id, title, explanation } = plan;
    const verdict = plan.judge(reader.facts());
    return { id, title, explanation, ...verdict, took: milliseconds(Math.max(0, clock.monotonic() - start)) };
  }));
  return { takenAt: clock.now(), simulated: options.source.kind === "sim", checks };
}

const SLOW_FIRST: readonly FactName[] = [
  "look",
  "services",
  "python",
  "driver",
  "standing",
  "machine",
  "containers",
  "mps",
  "acts",
  "shell",
  "processes",
];

type MutableFacts = { -readonly [Name in FactName]: DoctorFacts[Name] };

/** Reads each part once, and knows at any moment what is there. */
class FactReader {
  readonly #options: DoctorOptions;
  readonly #world: DoctorWorld & { readonly examination: Examination };
  readonly #facts: MutableFacts;
  readonly #running = new Map<FactName, Promise<void>>();

  constructor(options: DoctorOptions, world: DoctorWorld & { readonly examination: Examination }) {
    this.#options = options;
    this.#world = world;
    const late = absent("timed-out", `no answer within ${formatDuration(options.deadline)}`);
    this.#facts = {
      driver: late,
      standing: late,
      machine: late,
      services: late,
      look: late,
      containers: late,
      mps: late,
      acts: late,
      shell: late,
      processes: late,
      python: late,
    };
  }

  /** Begins to read what is named. */
  start(names: readonly FactName[]): void {
    for (const name of SLOW_FIRST) if (names.includes(name)) this.#running.set(name, this.#read(name));
  }

  /** Settles once all of it was read. */
  async settled(names: readonly FactName[]): Promise<void> {
    await Promise.all(names.map((name) => this.#running.get(name)));
  }

  facts(): DoctorFacts {
    return { ...this.#facts };
  }

  async #read(name: FactName): Promise<void> {
    const { examination } = this.#world;
    const facts = this.#facts;
    switch (name) {
      case "driver":
        facts.driver = known(await examination.readDriver());
        return;
      case "standing":
        facts.standing = await examination.readStanding();
        return;
      case "machine":
        facts.machine = known(await examination.readMachine());
        return;
      case "services":
        facts.services = await examination.readServices();
        return;
      case "look":
        facts.look = await this.#look();
        return;
      case "containers":
        facts.containers = known(await examination.readContainers());
        return;
      case "mps":
        facts.mps = known(await examination.readMps());
        return;
      case "acts":
        facts.acts = await examination.readActs();
        return;
      case "shell":
        facts.shell = known(this.#readShell());
        return;
      case "processes":
        facts.processes = known(this.#options.pids.map((pid) => this.#readProcess(pid)));
        return;
      case "python":
        facts.python = known(await examination.readPython(this.#options.python));
        return;
    }
  }

  async #look(): Promise<DoctorFacts["look"]> {
    const { source, deadline } = this.#options;
    try {
      const observation = await this.#world.observe(source, {
        within: milliseconds(deadline * DRIVER_SHARE),
        withUtilization: true,
        withHealth: true,
      });
      return known({ observation, snapshot: attribute(observation) });
    } catch (error) {
      // That there is no nvidia-smi to ask is a finding like others, and no end of the diagnosis.
      if (error instanceof GpuctlError) return absent("failed", error.message);
      throw error;
    }
  }

  #readShell(): ReadonlyMap<string, string> {
    return new Map(SHELL_VARIABLES.flatMap((name) => {
      const value = this.#world.variable(name);
      return value === undefined ? [] : [[name, value] as const];
    }));
  }

  #readProcess(pid: Pid): ExaminedProcess {
    const { origins } = this.#world;
    return {
      pid,
      environment: origins.readEnvironment(pid),
      isContained: mapReading(origins.readOwner(pid), ({ container }) => container !== undefined),
    };
  }
}
