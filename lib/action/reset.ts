/** The whole of a reset: would it help, what stands in the way, do it, and prove it. */
import { attribute } from "../analysis/attribute.ts";
import type { TimedJudgement } from "../analysis/ending.ts";
import { judgeHolders } from "../analysis/judge.ts";
import { findLastResets, findOwnKills } from "../analysis/own_acts.ts";
import { findBlockers, findClockBlockers, findStanding } from "../analysis/reset_blockers.ts";
import type { ResetFlags, ResetInput } from "../analysis/reset_input.ts";
import { judgeResetNeeds, judgeUnreadableGpu } from "../analysis/reset_need.ts";
import { type ClockKinds, planClocks, planReset } from "../analysis/reset_plan.ts";
import { GpuctlError } from "../core/errors.ts";
import { formatAbsent, known } from "../core/reading.ts";
import { type Milliseconds, milliseconds } from "../core/units.ts";
import type { AuditScene } from "../model/audit.ts";
import { encodeAuditRecord } from "../model/audit_json.ts";
import type { DriverReport, Gpu } from "../model/gpu.ts";
import type { Observation } from "../model/observation.ts";
import type {
  Blocker,
  GpuResetNeed,
  Reset,
  ResetGpuResult,
  ResetOutcome,
  ResetStep,
} from "../model/reset.ts";
import type { LiveSource } from "../model/source_choice.ts";
import type { AuditLog, LookOptions, ResetTools, World } from "../world/ports.ts";
import { takeCleaningLock } from "./clean_zombies.ts";
import { evictHolders, type EvictionOptions } from "./evict_holders.ts";
import { findLateUsers, type FreeWorld } from "./reset_free.ts";
import { LONGEST_PATIENCE, restorePersistence } from "./reset_persistence.ts";
import { performStep } from "./reset_step.ts";
import { judgeOutcome, proveReset } from "./reset_proof.ts";
import { carryOutSteps, type StepResult } from "./reset_steps.ts";

export interface ResetOptions {
  readonly source: LiveSource;
  /** The GPUs that were named. @throws {GpuctlError} if one of them is not there */
  readonly choose: (report: DriverReport) => ChosenGpus;
  readonly flags: Omit<ResetFlags, "isRoot">;
  /** Only clocks are set back; absent for a reset. */
  readonly clocks: ClockKinds | undefined;
  readonly isPlan: boolean;
  readonly look: LookOptions;
  readonly confirm: Milliseconds;
  readonly grace: Milliseconds;
  readonly settle: Milliseconds;
  /** How long nvidia-smi may take for one step. */
  readonly stepLimit: Milliseconds;
  /** What is on record of what gpuctl ended; the driver logs such an end as a fault. */
  readonly record: string;
  /** Told of each step as it begins. */
  readonly onStep?: (step: ResetStep) => void;
}

/** What was named: GPUs, and those that the driver counts and cannot open. */
export interface ChosenGpus {
  readonly gpus: readonly Gpu[];
  readonly unreadable: DriverReport["unreadableGpus"];
}

export type ResetWorld =
  & Pick<World, "clock" | "observe" | "openSampler" | "locks" | "catchSignals">
  & FreeWorld
  & { readonly tools: ResetTools; readonly audit: AuditLog };

/** One look at the machine with what follows from it. */
interface ResetScene {
  readonly input: ResetInput;
  readonly needs: readonly GpuResetNeed[];
  readonly blockers: readonly Blocker[];
  readonly steps: readonly ResetStep[];
}

/**
 * Plans a reset and, unless it is only a plan, carries it out.
 *
 * @throws {GpuctlError} `unavailable` if no GPU can be seen, or one that was named is not there; `refused` while another
 * run is at work, or if nothing can be recorded: nothing was done then
 */
export async function resetGpus(options: ResetOptions, world: ResetWorld): Promise<Reset> {
  using _lock = options.isPlan ? undefined : takeCleaningLock(options, world);
  const scene = await lookAt(options, world);
  if (options.isPlan) return summarise(scene, { outcome: "plan", steps: scene.steps, results: [] });
  if (isBlocked(scene, options)) return summarise(scene, { outcome: "blocked", steps: [], results: [] });
  return await carryOutReset(scene, options, world);
}

async function lookAt(options: ResetOptions, world: ResetWorld): Promise<ResetScene> {
  const look = { ...options.look, withHealth: true } as const;
  const [observation, facts] = await Promise.all([
    world.observe(options.source, look),
    world.tools.readFacts(),
  ]);
  if (!observation.report.ok) {
    throw new GpuctlError("unavailable", `Cannot see the GPUs: ${formatAbsent(observation.report)}`, {
      hint: "gpuctl snapshot shows what can be seen without the driver; the kernel log has what it said last",
    });
  }
  const { gpus, unreadable } = options.choose(observation.report.value);
  const input: ResetInput = {
    observation,
    snapshot: attribute(observation),
    facts,
    gpus,
    smiPath: world.tools.smiPath,
    flags: { ...options.flags, isRoot: isRoot(observation) },
    ownKills: findOwnKills(options.record, observation),
    lastResets: findLastResets(options.record, observation),
  };
  const needs = [
    ...judgeResetNeeds(input),
    ...unreadable.map(({ index, reason }) => judgeUnreadableGpu(index, reason)),
  ];
  const found = options.clocks ? findClockBlockers(input) : findBlockers(input, needs);
  const blockers = [...unreadable.map(unreadableBlocker), ...found];
  const steps = options.clocks ? planClocks(input, blockers, options.clocks) : planReset(input, blockers);
  return { input, needs, blockers, steps };
}

/** A GPU that the driver cannot open can be named to nobody. */
function unreadableBlocker({ index, reason }: DriverReport["unreadableGpus"][number]): Blocker {
  return {
    kind: "driver",
    who: `GPU ${index}`,
    why: `the driver cannot open it: ${formatAbsent(reason)}`,
    remedy: "reboot; if it stays away, cut the power",
    clearedBy: "nobody",
  };
}

function isRoot({ scan }: Observation): boolean {
  return scan.ok && scan.value.reader.isRoot;
}

function isBlocked({ blockers, steps }: ResetScene, { flags }: ResetOptions): boolean {
  return findStanding(blockers, flags).length > 0 || steps.length === 0;
}

interface Doings {
  readonly outcome: ResetOutcome;
  readonly steps: readonly ResetStep[];
  readonly results: readonly ResetGpuResult[];
}

function summarise({ input, needs, blockers }: ResetScene, doings: Doings): Reset {
  const { observation, snapshot } = input;
  return {
    takenAt: observation.takenAt,
    simulated: observation.simulated,
    needs,
    blockers,
    ...doings,
    problems: snapshot.problems,
  };
}

async function carryOutReset(
  scene: ResetScene,
  options: ResetOptions,
  world: ResetWorld,
): Promise<Reset> {
  let hasSignal = false;
  const isInterrupted = () => hasSignal;
  const interrupt = () => void (hasSignal = true);
  // Whatever would end us has to wait until all is put back.
  using _caught = world.catchSignals(interrupt, interrupt);
  const audit = auditSceneOf(scene.input.observation);
  const steps = await carryOutSteps(scene.steps.filter(changesMachine), {
    clock: world.clock,
    isInterrupted,
    perform: (step) => perform(step, scene, { audit, isInterrupted, options }, world),
    record: (event, step) =>
      world.audit.append(encodeAuditRecord({ ...audit, at: world.clock.now(), event, step })),
  });
  scene.steps.filter((step) => !changesMachine(step)).forEach((step) => options.onStep?.(step));
  const proof = await proveReset(
    { gpus: scene.input.gpus, planned: scene.steps, done: steps },
    { ...options, isInterrupted },
    world,
  );
  return summarise(scene, { ...proof, outcome: judgeOutcome(steps, proof.results, { hasSignal }) });
}

interface Run extends Pick<EvictionOptions, "audit" | "isInterrupted"> {
  readonly options: ResetOptions;
}

async function perform(
  step: ResetStep,
  scene: ResetScene,
  { options, ...run }: Run,
  world: ResetWorld,
): Promise<StepResult> {
  const { source, look: { within }, stepLimit: limit } = options;
  options.onStep?.(step);
  switch (step.kind) {
    case "evict":
      return await evict(scene, run, options, world);
    case "reset": {
      const users = await findLateUsers(step, { source, ...scene }, world);
      if (users !== undefined) return { state: "failed", answer: `it was not begun: ${users}` };
      return await performStep(step, { limit }, world.tools);
    }
    case "persistence-on": {
      const switchOn = () => performStep(step, { limit }, world.tools);
      const gpu = scene.input.gpus.find(({ uuid }) => uuid === step.gpu);
      const patience = milliseconds(Math.min(limit, LONGEST_PATIENCE));
      return gpu
        ? await restorePersistence(gpu, switchOn, { source, within, patience }, world)
        : await switchOn();
    }
    default:
      return await performStep(step, { limit }, world.tools);
  }
}

/** Reading again comes last whatever came before, and is no change that has to be recorded. */
function changesMachine({ kind }: ResetStep): boolean {
  return kind !== "read-again";
}

async function evict(
  { input, blockers }: ResetScene,
  run: Pick<EvictionOptions, "audit" | "isInterrupted">,
  options: ResetOptions,
  world: ResetWorld,
): Promise<StepResult> {
  const first = timed(input.observation);
  if (first === undefined) return { state: "failed", answer: "the holders could not be judged" };
  return await evictHolders({
    ...options,
    ...run,
    first,
    expected: blockers.flatMap(({ clearedBy, pid }) =>
      clearedBy === "evict" && pid !== undefined ? [pid] : []
    ),
    scope: { ...options.flags, gpus: new Set(input.gpus.map(({ uuid }) => uuid)) },
  }, world);
}

function timed({ report, scan, ticks }: Observation): TimedJudgement | undefined {
  if (!report.ok || !scan.ok) return undefined;
  return { judgement: judgeHolders(report.value, scan.value), scan: scan.value, ticks };
}

function auditSceneOf({ host, simulated, scan }: Observation): AuditScene {
  return { by: scan.ok ? known(scan.value.reader) : scan, bootId: host.bootId, simulated };
}
