/** All rules of a watch over one machine: each moment in, what is to be told out. */
import type { BusId, Pid } from "../../core/ids.ts";
import { repeatOption } from "../../core/own_commands.ts";
import type { Reading } from "../../core/reading.ts";
import type { ClockTicks, Milliseconds } from "../../core/units.ts";
import type { DriverReport, Gpu } from "../../model/gpu.ts";
import type { Observation } from "../../model/observation.ts";
import type { XidEvent } from "../../model/reset_facts.ts";
import type { GpuAccount, Problem, Snapshot } from "../../model/snapshot.ts";
import type { Alert, Condition, WatchedGpu, WatchEvent, WatchRules } from "../../model/watch.ts";
import { AlertBook } from "./alert_book.ts";
import {
  busyConditions,
  driverConditions,
  ghostConditions,
  lostConditions,
  memoryConditions,
  recoveryConditions,
  unattributedConditions,
} from "./conditions.ts";
import { growingProcess, GrowthWatch } from "./growth.ts";
import { IdleWatch } from "./idle_holders.ts";
import { isSameDevice, XidWatch } from "./xid_watch.ts";

/** One moment of a watch. */
export interface WatchTick {
  readonly at: Milliseconds;
  readonly now: string;
  /** The driver's own answer, of the watched GPUs alone. */
  readonly report: Reading<DriverReport>;
  /** That answer joined with the processes. */
  readonly snapshot: Snapshot;
  /** A look at everybody, at the moments that have one. */
  readonly observation: Observation | undefined;
  /** The clock ticks since boot of the last such look, which start times are counted in. */
  readonly ticks: ClockTicks | undefined;
  /** What the kernel has logged since the last moment. */
  readonly xids: readonly XidEvent[];
}

export interface WatchJudgeOptions {
  readonly rules: WatchRules;
  /** What is over and comes back within this span is not told again; an Xid stands for as long. */
  readonly oncePer: Milliseconds;
  /** Whether all GPUs of the machine are watched: an error of one that was never readable is told then too. */
  readonly isWholeMachine: boolean;
}

/** Judges moment after moment. Keeps what the machine has now, and nothing that grows with time. */
export class WatchJudge {
  readonly #rules: WatchRules;
  readonly #isWholeMachine: boolean;
  readonly #book: AlertBook;
  readonly #growth: GrowthWatch | undefined;
  readonly #idle: IdleWatch | undefined;
  readonly #xids: XidWatch;
  /** Every GPU that was ever readable, and its address. */
  readonly #known = new Map<number, WatchedGpu>();
  readonly #addresses = new Set<BusId>();
  #hasAnswered = false;

  constructor({ rules, oncePer, isWholeMachine }: WatchJudgeOptions) {
    this.#rules = rules;
    this.#isWholeMachine = isWholeMachine;
    this.#book = new AlertBook(oncePer);
    this.#growth = rules.growth && new GrowthWatch(rules.growth);
    this.#idle = rules.idleFor === undefined ? undefined : new IdleWatch(rules.idleFor);
    this.#xids = new XidWatch(oncePer);
  }

  /** The alerts that stand, the longest first. */
  get standing(): readonly Alert[] {
    return this.#book.standing;
  }

  /** Whether the driver has ever given an answer. */
  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  /** What no rule can see just now though it was asked to. */
  problems(snapshot: Snapshot): readonly Problem[] {
    return this.#idle?.problems(snapshot) ?? [];
  }

  /** Takes a moment in and gives what is to be told. */
  judge(tick: WatchTick): WatchEvent[] {
    const { at, now, report, snapshot, observation, xids } = tick;
    if (report.ok) this.#meet(report.value.gpus);
    if (observation) this.#idle?.add(observation);
    this.#xids.add(xids, at);
    const gpus = report.ok ? report.value.gpus : [];
    const conditions = [
      ...driverConditions(report),
      ...this.#xids.conditions(at, { gpus, isWatched: (busId) => this.#watches(busId) }),
      ...report.ok ? this.#conditionsOf(report.value, tick) : [],
    ];
    return this.#book.update({
      at,
      now,
      conditions: conditions.map((condition) => ({
        ...condition,
        advice: repeatOption(condition.advice, snapshot.sourceOption),
      })),
      canSee: (condition) => canSee(condition, report.ok ? snapshot.gpus : undefined),
    });
  }

  #conditionsOf(report: DriverReport, { at, snapshot, ticks }: WatchTick): Condition[] {
    const { memoryAbove, ghostFor, unattributed, busyFor } = this.#rules;
    const { gpus } = report;
    const findProcess = (pid: Pid) =>
      growingProcess(pid, { holder: snapshot.holders.find((each) => each.pid === pid), ticks });
    return [
      ...lostConditions(report, this.#known),
      ...recoveryConditions(gpus),
      ...memoryAbove ? memoryConditions(gpus, memoryAbove) : [],
      ...this.#growth?.add({ at, gpus, findProcess }) ?? [],
      ...ghostFor === undefined ? [] : ghostConditions(snapshot, ghostFor),
      ...unattributed ? unattributedConditions(snapshot, unattributed) : [],
      ...this.#idle?.conditions(snapshot) ?? [],
      ...busyFor === undefined ? [] : busyConditions(snapshot, busyFor),
    ];
  }

  #meet(gpus: readonly Gpu[]): void {
    this.#hasAnswered = true;
    for (const { index, uuid, busId } of gpus) {
      this.#known.set(index, { index, uuid });
      if (busId.ok) this.#addresses.add(busId.value);
    }
  }

  #watches(busId: BusId): boolean {
    return this.#isWholeMachine || [...this.#addresses].some((known) => isSameDevice(known, busId));
  }
}

/** Whether what the driver said of its GPUs at this moment could have shown a condition. */
function canSee({ kind, gpu: subject }: Condition, gpus: readonly GpuAccount[] | undefined): boolean {
  if (kind === "driver" || kind === "xid") return true;
  if (gpus === undefined || kind === "gpu-lost") return gpus !== undefined;
  const gpu = gpus.find((each) => each.gpu.uuid === subject?.uuid)?.gpu;
  if (gpu === undefined) return false;
  switch (kind) {
    case "recovery":
      return gpu.recoveryAction.ok;
    case "memory":
      return gpu.memoryUsed.ok;
    case "unattributed":
      return gpu.memoryUsed.ok && gpu.processList.state === "known";
    case "growth":
    case "ghost":
    case "idle":
      return gpu.processList.state === "known";
    case "busy-without-process":
      return gpu.utilization.ok;
  }
}
