/** Carries an ending plan out and proves what it gave back. */
import { absent, type Reading } from "../core/reading.ts";
import { type Bytes, bytes, type Milliseconds, milliseconds } from "../core/units.ts";
import type { ListedRow, PlannedAct } from "../analysis/ending.ts";
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

/** Reads the memory until what should go has gone, has stopped going, or `settle` is over. */
async function verifyRelease(
  running: readonly Running[],
  { settle, look }: CleanOptions,
  world: CleanWorld,
): Promise<Act[]> {
  const { clock, sampler } = world;
  const deadline = clock.monotonic() + settle;
  const ended = new Set(running.filter(hasEndedNow).map(({ planned }) => planned.identity.pid));
  const released = new Map<Running, Milliseconds>();
  let report = await readReport(sampler, look);
  for (let pause = FIRST_PAUSE_MS; report; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    const now = clock.monotonic();
    for (const each of running.filter(hasEndedNow)) {
      const isDue = listedRows(each.planned, report).some(({ row }) =>
        row.keepers.every((pid) => ended.has(pid))
      );
      if (!isDue && !released.has(each)) released.set(each, milliseconds(now - each.startedAt));
    }
    if (released.size === ended.size || now >= deadline) break;
    await clock.pause(milliseconds(pause));
    report = await readReport(sampler, look);
  }
  return running.map((each) => actOf(each, report, released.get(each)));
}

function hasEndedNow({ result: { outcome } }: Running): boolean {
  return outcome === "ended" || outcome === "ended-by-force";
}

function actOf(
  each: Running,
  report: DriverReport | undefined,
  releaseMs: Milliseconds | undefined,
): Act {
  const { planned, result } = each;
  const isHeld = hasEndedNow(each) && report !== undefined && releaseMs === undefined;
  return {
    ...planned.identity,
    class: planned.class,
    evidence: result.why === undefined ? planned.evidence : [...planned.evidence, result.why],
    command: planned.command,
    signal: result.signal,
    outcome: isHeld ? "memory-held" : result.outcome,
    bytesBefore: planned.bytesBefore,
    bytesAfter: report ? sumRows(listedRows(planned, report)) : null,
    releaseMs: releaseMs ?? null,
  };
}

interface FoundRow {
  readonly row: ListedRow;
  readonly used: Reading<Bytes>;
}

/** What is still listed of what an act was to free. A list that cannot be read still has it, as far as anybody knows. */
function listedRows({ frees }: PlannedAct, report: DriverReport): FoundRow[] {
  return frees.flatMap((row): FoundRow[] => {
    const list = report.gpus.find(({ uuid }) => uuid === row.gpu)?.processList;
    if (list?.state !== "known") return [{ row, used: list?.reason ?? absent("lost") }];
    return contextsOf(list).filter(({ pid }) => pid === row.pid).map(({ used }) => ({ row, used }));
  });
}

function sumRows(rows: readonly FoundRow[]): Bytes | null {
  let sum = 0;
  for (const { used } of rows) {
    if (!used.ok) return null;
    sum += used.value;
  }
  return bytes(sum);
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
