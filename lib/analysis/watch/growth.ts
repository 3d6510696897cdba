/** Who takes more and more memory, measured over a window that never grows. */
import type { Pid } from "../../core/ids.ts";
import { mapReading, type Reading } from "../../core/reading.ts";
import {
  type Bytes,
  bytes,
  type ClockTicks,
  formatBytes,
  formatDuration,
  type Milliseconds,
  milliseconds,
} from "../../core/units.ts";
import { type Context, contextsOf, type Gpu } from "../../model/gpu.ts";
import type { Holder } from "../../model/snapshot.ts";
import type { Condition, GrowthRule, WatchedProcess } from "../../model/watch.ts";
import { TICK_MS } from "../ending.ts";
import { sumContexts } from "../facts.ts";
import { nameProcess, watchedGpu, watchedProcess } from "./naming.ts";
import { type Point, POINTS_PER_WINDOW, risesAllAlong, robustSlope, stillRises } from "./slope.ts";

const HOUR_MS = 3_600_000;

/** What is known of the process behind a pid. */
export interface GrowingProcess {
  readonly startTicks: ClockTicks | undefined;
  /** Milliseconds since its start, `undefined` if that is not known. */
  readonly age: Milliseconds | undefined;
  /** What it is called, worked out when that is told. */
  readonly name: () => WatchedProcess;
}

/** One moment, as growth is measured. */
export interface GrowthTick {
  readonly at: Milliseconds;
  readonly gpus: readonly Gpu[];
  readonly findProcess: (pid: Pid) => GrowingProcess;
}

interface Series {
  readonly startTicks: ClockTicks | undefined;
  /** When it was first seen. */
  readonly firstAt: Milliseconds;
  points: readonly Point[];
  condition: Condition | undefined;
}

/** Follows the memory of each process on each GPU. Keeps no more than a window of points for those that are listed. */
export class GrowthWatch {
  readonly #rule: GrowthRule;
  readonly #series = new Map<string, Series>();

  constructor(rule: GrowthRule) {
    this.#rule = rule;
  }

  /** How many points are kept in all. */
  get size(): number {
    return [...this.#series.values()].reduce((sum, { points }) => sum + points.length, 0);
  }

  /** Takes a moment in and says who grows. */
  add({ at, gpus, findProcess }: GrowthTick): Condition[] {
    const listed = new Set<string>();
    for (const gpu of gpus) {
      const { processList } = gpu;
      for (const [pid, own] of Map.groupBy(contextsOf(processList), ({ pid }) => pid)) {
        const key = `growth ${gpu.uuid} ${pid}`;
        listed.add(key);
        const used = sumContexts(own, processList);
        const subject = { gpu, process: findProcess(pid), free: findFree(gpu, own) };
        if (used.ok) this.#follow(key, { at, value: used.value }, subject);
      }
      // What is not listed because the list cannot be read has not ended.
      if (processList.state !== "known") {
        for (const key of this.#series.keys()) if (key.startsWith(`growth ${gpu.uuid} `)) listed.add(key);
      }
    }
    for (const key of this.#series.keys()) if (!listed.has(key)) this.#series.delete(key);
    return [...this.#series.values()].flatMap(({ condition }) => condition ?? []);
  }

  #follow(
    key: string,
    point: Point,
    subject: Subject,
  ): void {
    const { process } = subject;
    const { window, warmUp } = this.#rule;
    const before = this.#series.get(key);
    const series: Series = before !== undefined && before.startTicks === process.startTicks
      ? before
      : { startTicks: process.startTicks, firstAt: point.at, points: [], condition: undefined };
    this.#series.set(key, series);
    const age = process.age ?? milliseconds(point.at - series.firstAt);
    if (age < warmUp) return;
    const last = series.points.at(-1);
    if (last !== undefined && point.at - last.at < window / POINTS_PER_WINDOW) return;
    // One point older than the window stays, so that the window is covered whole.
    const start = series.points.findLastIndex(({ at }) => at <= point.at - window);
    series.points = [...series.points.slice(Math.max(0, start)), point];
    const [first] = series.points;
    series.condition = first !== undefined && point.at - first.at >= window
      ? this.#judge(key, series.points, subject)
      : undefined;
  }

  #judge(
    key: string,
    points: readonly Point[],
    { gpu, process, free }: Subject,
  ): Condition | undefined {
    const { perHour: limit, window } = this.#rule;
    const perHour = (robustSlope(points) ?? 0) * HOUR_MS;
    const isOver = perHour >= limit && risesAllAlong(points);
    if (!isOver && !(perHour >= limit / 2 && stillRises(points))) return undefined;
    const named = process.name();
    const pace = bytes(Math.round(perHour));
    const [first, last] = [points[0]?.value ?? 0, points.at(-1)?.value ?? 0];
    const span = formatDuration(milliseconds((points.at(-1)?.at ?? 0) - (points[0]?.at ?? 0)));
    return {
      kind: "growth",
      key,
      severity: "warning",
      gpu: watchedGpu(gpu),
      process: named,
      isOver,
      after: milliseconds(0),
      already: window,
      message: `${nameProcess(named)} takes ${formatBytes(pace)} more an hour on GPU ${gpu.index}`,
      evidence: [
        `from ${formatBytes(bytes(first))} to ${formatBytes(bytes(last))} in ${span}, rising all along`,
        sayTimeToFull(free, pace),
      ],
      advice: `see whether it is a leak while it still fits: gpuctl snapshot --gpu ${gpu.index}`,
    };
  }
}

interface Subject {
  readonly gpu: Gpu;
  readonly process: GrowingProcess;
  readonly free: Reading<Bytes>;
}

/** What is left where a process has its contexts: of the GPU, or of the MIG device that they are on. */
function findFree(gpu: Gpu, [context]: readonly Context[]): Reading<Bytes> {
  if (context?.gpuInstance === undefined || !gpu.migInstances.ok) return gpu.memoryFree;
  const instance = gpu.migInstances.value.find(({ gpuInstance }) =>
    gpuInstance.ok && gpuInstance.value === context.gpuInstance
  );
  if (instance === undefined || !instance.memoryTotal.ok) return gpu.memoryFree;
  const { value: total } = instance.memoryTotal;
  return mapReading(instance.memoryUsed, (used) => bytes(Math.max(0, total - used)));
}

/** No forecast: what this pace comes to if nothing else changes. */
function sayTimeToFull(free: Reading<Bytes>, perHour: Bytes): string {
  if (!free.ok) return "how much is free there is not known, so neither is when it is full";
  const left = milliseconds(free.value / perHour * HOUR_MS);
  return `${formatBytes(free.value)} are free: at this pace, if nobody else takes or frees any, full in ${
    formatDuration(left)
  }`;
}

/** What is known of a process from the holders of a look. */
export function growingProcess(
  pid: Pid,
  { holder, ticks }: { readonly holder: Holder | undefined; readonly ticks: ClockTicks | undefined },
): GrowingProcess {
  const started = holder?.startTicks.ok ? holder.startTicks.value : undefined;
  return {
    startTicks: started,
    age: started === undefined || ticks === undefined
      ? undefined
      : milliseconds(Math.max(0, ticks - started) * TICK_MS),
    name: () => watchedProcess(pid, holder),
  };
}
