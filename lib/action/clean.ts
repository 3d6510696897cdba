/** Carries an ending plan out and proves what it gave back. */
import type { GpuUuid, Pid } from "../core/ids.ts";
import { type Bytes, bytes, type Milliseconds, milliseconds } from "../core/units.ts";
import type { PlannedAct } from "../analysis/ending.ts";
import type { Act } from "../model/cleanup.ts";
import { contextsOf, type DriverReport } from "../model/gpu.ts";
import type { ProcStat } from "../model/process.ts";
import type { Clock, LookOptions, ProcessTable, Sampler } from "../world/ports.ts";
import { endProcess, type EndResult } from "./end_process.ts";

export interface CleanOptions {
  readonly grace: Milliseconds;
  /** How long the driver has to give the memory back after the last process ended. */
  readonly settle: Milliseconds;
  readonly look: LookOptions;
}

export interface CleanWorld {
  readonly processes: ProcessTable;
  readonly clock: Clock;
  readonly sampler: Sampler;
}

const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 250;

interface Running {
  readonly planned: PlannedAct;
  readonly result: EndResult;
  readonly startedAt: Milliseconds;
}

/**
 * Ends what the plan names: those nearest to the root first, since a supervisor restarts what is ended under it and a
 * worker leaves by itself when its owner does. Then reads the memory until it is back or `settle` is over.
 */
export async function carryOut(
  acts: readonly PlannedAct[],
  options: CleanOptions,
  world: CleanWorld,
): Promise<Act[]> {
  const running: Running[] = [];
  for (const wave of groupByDepth(acts)) {
    running.push(...await Promise.all(wave.map((planned) => endOne(planned, options, world))));
  }
  return await verifyRelease(running, options, world);
}

async function endOne(planned: PlannedAct, { grace }: CleanOptions, world: CleanWorld): Promise<Running> {
  const startedAt = world.clock.monotonic();
  const result = await endProcess(planned.identity, { grace, objection: stateObjection }, world);
  return { planned, result, startedAt };
}

/** State D is reported, never signalled. */
function stateObjection({ state }: ProcStat): string | undefined {
  return state === "D" ? "is in state D" : undefined;
}

async function verifyRelease(
  running: readonly Running[],
  { settle, look }: CleanOptions,
  world: CleanWorld,
): Promise<Act[]> {
  const deadline = world.clock.monotonic() + settle;
  const released = new Map<Running, Milliseconds>();
  const hasGone = running.filter(({ result: { outcome } }) =>
    outcome === "ended" || outcome === "ended-by-force"
  );
  let report = await readReport(world.sampler, look);
  for (let pause = FIRST_PAUSE_MS; report; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    for (const each of hasGone) {
      if (!released.has(each) && listedBytes(each.planned, report) === 0) {
        released.set(each, milliseconds(world.clock.monotonic() - each.startedAt));
      }
    }
    if (released.size === hasGone.length || world.clock.monotonic() >= deadline) break;
    await world.clock.pause(milliseconds(pause));
    report = await readReport(world.sampler, look);
  }
  return running.map((each) => actOf(each, report, released.get(each)));
}

function actOf(
  { planned, result }: Running,
  report: DriverReport | undefined,
  releaseMs: Milliseconds | undefined,
): Act {
  const bytesAfter = report ? listedBytes(planned, report) : null;
  const hasGone = result.outcome === "ended" || result.outcome === "ended-by-force";
  const isHeld = hasGone && bytesAfter !== null && bytesAfter > 0;
  return {
    ...planned.identity,
    class: planned.class,
    evidence: result.why === undefined ? planned.evidence : [...planned.evidence, result.why],
    command: planned.command,
    signal: result.signal,
    outcome: isHeld ? "memory-held" : result.outcome,
    bytesBefore: planned.bytesBefore,
    bytesAfter,
    releaseMs: releaseMs ?? null,
  };
}

/** Bytes still listed for what an act was to free; null where a list or a number is not known. */
function listedBytes({ frees }: PlannedAct, report: DriverReport): Bytes | null {
  let sum = 0;
  for (const { gpu: uuid, pids } of frees) {
    const rows = rowsOn(report, uuid, pids);
    if (rows === undefined) return null;
    for (const { used } of rows) {
      if (!used.ok) return null;
      sum += used.value;
    }
  }
  return bytes(sum);
}

function rowsOn(report: DriverReport, uuid: GpuUuid, pids: readonly Pid[]) {
  const gpu = report.gpus.find((each) => each.uuid === uuid);
  if (gpu === undefined || gpu.processList.state !== "known") return undefined;
  return contextsOf(gpu.processList).filter(({ pid }) => pids.includes(pid));
}

async function readReport(sampler: Sampler, look: LookOptions): Promise<DriverReport | undefined> {
  const reading = await sampler.sample(look);
  return reading.ok ? reading.value : undefined;
}

function groupByDepth(acts: readonly PlannedAct[]): PlannedAct[][] {
  const waves = new Map<number, PlannedAct[]>();
  for (const act of acts) waves.set(act.depth, [...(waves.get(act.depth) ?? []), act]);
  return [...waves.entries()].sort(([a], [b]) => a - b).map(([, wave]) => wave);
}
