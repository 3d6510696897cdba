/** Watches a machine: looks, judges, tells, until its time is over, a signal comes, or an alert that was waited for. */
import { narrowSnapshot } from "../analysis/narrow_snapshot.ts";
import { WatchJudge } from "../analysis/watch/watch_judge.ts";
import { known, type Reading } from "../core/reading.ts";
import { type Milliseconds, milliseconds } from "../core/units.ts";
import type { DriverReport, Gpu } from "../model/gpu.ts";
import type { XidEvent } from "../model/reset_facts.ts";
import type { Problem, Snapshot } from "../model/snapshot.ts";
import type { LiveSource } from "../model/source_choice.ts";
import type { WatchEvent, WatchRules, WatchView } from "../model/watch.ts";
import type { KernelLogFollower, PassedSignal, World } from "../world/ports.ts";
import { Alarm } from "./alarm.ts";
import { Eyes, type Sight } from "./watch_eyes.ts";

export interface WatchOptions {
  readonly source: LiveSource;
  readonly interval: Milliseconds;
  readonly deadline: Milliseconds;
  readonly lookEvery: Milliseconds;
  readonly rules: WatchRules;
  readonly oncePer: Milliseconds;
  /** How long to watch; for good without it. */
  readonly span: Milliseconds | undefined;
  /** How many moments to look at; any number without it. */
  readonly count: number | undefined;
  /** Whether the first alert ends the watch. */
  readonly untilAlert: boolean;
  /**
   * The GPUs to watch, chosen at the driver's first answer; all of them without it.
   *
   * @throws {GpuctlError} if one is not there
   */
  readonly choose: ((report: DriverReport) => ChosenToWatch) | undefined;
}

/** Some GPUs of a machine. */
export interface ChosenToWatch {
  readonly gpus: readonly Pick<Gpu, "uuid">[];
  /** Whether a GPU that can only be named by its index is among them. */
  readonly hasIndex: (index: number) => boolean;
}

/** Whoever is told. What they cannot do is theirs to deal with; what they throw ends the watch. */
export interface WatchSink {
  /** Each moment, after what happened at it. */
  show(view: WatchView): void;
  tell(event: WatchEvent): void;
  /** What the sink itself cannot do just now. */
  readonly remarks: readonly Problem[];
}

/** How a watch ended. */
export interface WatchEnd {
  readonly hasAnswered: boolean;
  /** Whether an alert ended it, of something else than a driver that has never answered. */
  readonly isEndedByAlert: boolean;
}

export type WatchWorld = Pick<
  World,
  "clock" | "processes" | "openObserver" | "openKernelLog" | "catchSignals"
>;

/** GPUs are asked how busy they are this often, unless a rule has less time than four of these. */
const UTILIZATION_EVERY_MS = 10_000;
/** Signals that ask us to stop; the others have no meaning here, and must not end a watch half-way. */
const STOP: readonly PassedSignal[] = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"];

/** Watches. Goes on where the driver gives no answer. @throws {GpuctlError} if a named GPU is not there */
export async function watchMachine(
  options: WatchOptions,
  sink: WatchSink,
  world: WatchWorld,
): Promise<WatchEnd> {
  const { interval, deadline: within, lookEvery, rules, oncePer, span, count, untilAlert } = options;
  const { clock } = world;
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
  using _signals = world.catchSignals(({ signal }) => STOP.includes(signal) && stop());
  const alarm = new Alarm(stopped);
  await using observer = await world.openObserver(options.source);
  using log = rules.hasXids ? await world.openKernelLog(options.source) : undefined;
  const utilizationEvery = milliseconds(
    Math.max(interval, Math.min(UTILIZATION_EVERY_MS, (rules.busyFor ?? Infinity) / 4)),
  );
  const eyes = new Eyes({ within, lookEvery, utilizationEvery, interval }, { ...world, observer });
  const judge = new WatchJudge({ rules, oncePer, isWholeMachine: options.choose === undefined });
  const choice = new Choice(options.choose);
  const startedAt = clock.monotonic();
  const elapsed = () => milliseconds(Math.max(0, clock.monotonic() - startedAt));
  let slot = 0;
  for (let moments = 1;; moments++) {
    const sight = await alarm.outwait(eyes.see());
    if (sight === undefined) break;
    const logged = readLog(log);
    const narrow = choice.narrow(sight);
    const events = judge.judge({
      at: clock.monotonic(),
      now: clock.now(),
      ...narrow,
      observation: sight.observation,
      ticks: sight.observation?.ticks ?? sight.lastLook.ticks,
      xids: logged.xids,
    });
    for (const event of events) sink.tell(event);
    const now = clock.now();
    sink.show({
      at: now,
      elapsed: elapsed(),
      // Where nothing has changed the driver has said so just now.
      snapshot: sight.report.ok ? { ...narrow.snapshot, takenAt: known(now) } : narrow.snapshot,
      processesAge: sight.processesAge,
      alerts: judge.standing,
      remarks: [...logged.problems, ...judge.problems(narrow.snapshot), ...sink.remarks],
    });
    if (untilAlert && events.some(({ event }) => event === "alert")) {
      const isOfGpus = events.some(({ event, alert }) => event === "alert" && alert.kind !== "driver");
      return { hasAnswered: judge.hasAnswered, isEndedByAlert: judge.hasAnswered || isOfGpus };
    }
    if (moments === count) break;
    // Moments that were missed are not made up for, and a timer may be a little early.
    slot = Math.max(slot, Math.floor(elapsed() / interval)) + 1;
    const next = slot * interval;
    const end = span ?? Infinity;
    if (elapsed() >= end) break;
    await alarm.pause(milliseconds(Math.max(0, Math.min(next, end) - elapsed())), clock);
    if (alarm.hasRung || elapsed() >= end) break;
  }
  return { hasAnswered: judge.hasAnswered, isEndedByAlert: false };
}

/** What was logged, or why that is not known. */
function readLog(
  log: KernelLogFollower | undefined,
): { readonly xids: readonly XidEvent[]; readonly problems: readonly Problem[] } {
  const reading = log?.readNew() ?? known([]);
  if (reading.ok) return { xids: reading.value, problems: [] };
  const message = "The driver's errors (Xid) in the kernel's log cannot be seen";
  return { xids: [], problems: [{ subject: "kernel log", reason: reading, message }] };
}

/** The GPUs that are watched, once it is known which there are. */
class Choice {
  readonly #choose: WatchOptions["choose"];
  #chosen: ChosenToWatch | undefined;
  #last: { readonly from: Snapshot; readonly to: Snapshot } | undefined;

  constructor(choose: WatchOptions["choose"]) {
    this.#choose = choose;
  }

  narrow(
    { report, snapshot }: Sight,
  ): { readonly report: Reading<DriverReport>; readonly snapshot: Snapshot } {
    if (this.#choose === undefined) return { report, snapshot };
    if (this.#chosen === undefined && report.ok) this.#chosen = this.#choose(report.value);
    const chosen = this.#chosen;
    if (chosen === undefined) return { report, snapshot };
    if (this.#last?.from !== snapshot) {
      const unreadable = snapshot.unreadableGpus.filter(({ index }) => chosen.hasIndex(index));
      this.#last = { from: snapshot, to: narrowSnapshot(snapshot, { gpus: chosen.gpus, unreadable }) };
    }
    if (!report.ok) return { report, snapshot: this.#last.to };
    const uuids = new Set(chosen.gpus.map(({ uuid }) => uuid));
    return {
      report: known({
        ...report.value,
        gpus: report.value.gpus.filter(({ uuid }) => uuids.has(uuid)),
        unreadableGpus: report.value.unreadableGpus.filter(({ index }) => chosen.hasIndex(index)),
      }),
      snapshot: this.#last.to,
    };
  }
}
