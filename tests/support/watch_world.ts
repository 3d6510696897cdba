/** A machine to be watched that changes as a test says, with a clock that runs as fast as it is asked to wait. */
import type { WatchOptions, WatchSink, WatchWorld } from "../../lib/action/watch.ts";
import { type Absent, absent, known, type Reading } from "../../lib/core/reading.ts";
import { bytes, milliseconds } from "../../lib/core/units.ts";
import type { DriverReport } from "../../lib/model/gpu.ts";
import type { Observation } from "../../lib/model/observation.ts";
import type { XidEvent } from "../../lib/model/reset_facts.ts";
import type { WatchEvent, WatchView } from "../../lib/model/watch.ts";
import type { CaughtSignal } from "../../lib/world/ports.ts";
import { type MachineSpec, observe } from "./machine.ts";

const START = Date.parse("2026-11-30T12:00:00.000Z");
const TICKS_AT_START = 1_000_000;

export interface WatchedSpec {
  /** The machine after so many seconds; why there is no answer. */
  readonly machine: (second: number) => MachineSpec | Absent;
  /** What the kernel logs within a second. */
  readonly xids?: (second: number) => readonly XidEvent[];
  /** A signal that comes when so many seconds are over. */
  readonly stopAt?: number;
  /** How long a look at everybody takes. */
  readonly lookMs?: number;
}

/** A world, and what was asked of it. */
export interface WatchedWorld extends WatchWorld {
  /** `sample`, `sample+` with utilization, `look`; with the second. */
  readonly asked: readonly string[];
  readonly openThings: number;
}

/** Builds the world. */
export function watchedWorld({ machine, xids, stopAt, lookMs = 40 }: WatchedSpec): WatchedWorld {
  let now = 0;
  let openThings = 0;
  const asked: string[] = [];
  let onSignal: ((caught: CaughtSignal) => void) | undefined;
  let isStopped = false;
  let last: { readonly second: number; readonly text: string; readonly observation: Observation } | undefined;
  let unasked: { readonly of: DriverReport; readonly is: Reading<DriverReport> } | undefined;
  const second = () => Math.floor(now / 1000);
  const look = (): Observation | Absent => {
    if (last?.second === second()) return last.observation;
    const spec = machine(second());
    if ("ok" in spec) return spec;
    const text = JSON.stringify(spec);
    // As the helper does: an answer that equals the last one is the same object.
    const observation = last?.text === text ? last.observation : observe(spec);
    last = { second: second(), text, observation };
    return observation;
  };
  const moment = () => new Date(START + now).toISOString();
  const close = () => {
    openThings--;
  };
  return {
    asked,
    get openThings() {
      return openThings;
    },
    clock: {
      now: moment,
      monotonic: () => milliseconds(now),
      pause(span) {
        now += span;
        if (stopAt !== undefined && now >= stopAt * 1000 && !isStopped) {
          isStopped = true;
          onSignal?.({ signal: "SIGTERM", isFromTerminal: false });
        }
        return Promise.resolve();
      },
    },
    processes: {
      findProcess(pid) {
        const seen = look();
        if ("why" in seen || !seen.scan.ok) return undefined;
        return [...seen.scan.value.processes.values()].find((each) => each.pid === pid);
      },
      openProcess: () => undefined,
    },
    catchSignals(tell) {
      onSignal = tell;
      openThings++;
      return { [Symbol.dispose]: close };
    },
    openObserver() {
      openThings++;
      return Promise.resolve({
        sample({ withUtilization }): Promise<Reading<DriverReport>> {
          asked.push(`${second()} sample${withUtilization ? "+" : ""}`);
          const seen = look();
          if ("why" in seen || !seen.report.ok || withUtilization) {
            return Promise.resolve("why" in seen ? seen : seen.report);
          }
          if (unasked?.of !== seen.report.value) {
            unasked = { of: seen.report.value, is: withoutUtilization(seen.report.value) };
          }
          return Promise.resolve(unasked.is);
        },
        observe(): Promise<Observation> {
          asked.push(`${second()} look`);
          const seen = look();
          now += lookMs;
          if (!("why" in seen)) {
            return Promise.resolve({ ...seen, takenAt: moment(), ticks: ticksAt(now) });
          }
          return Promise.resolve({ ...withoutDriver(seen), takenAt: moment(), ticks: ticksAt(now) });
        },
        [Symbol.asyncDispose]: () => Promise.resolve(close()),
      });
    },
    openKernelLog() {
      openThings++;
      let read = second();
      return Promise.resolve({
        readNew() {
          if (xids === undefined) return absent("no-permission");
          const found: XidEvent[] = [];
          for (; read <= second(); read++) found.push(...xids(read));
          return known(found);
        },
        [Symbol.dispose]: close,
      });
    },
  };
}

/** What the kernel knows of one GPU, in place of the driver's answer. */
function withoutDriver(reason: Absent): Observation {
  const message = "The driver gave no answer: what follows is from /proc alone";
  const observation = observe({ processes: [], gpus: [{ list: reason.why }] });
  return { ...observation, source: "proc", problems: [{ subject: "driver", reason, message }] };
}

function withoutUtilization(report: DriverReport): Reading<DriverReport> {
  const gpus = report.gpus.map((gpu) => ({ ...gpu, utilization: absent("not-asked") }));
  return known({ ...report, gpus });
}

function ticksAt(now: number): Observation["ticks"] {
  return observe({ processes: [], ticks: TICKS_AT_START + Math.floor(now / 10) }).ticks;
}

/** A watch of all rules that are on unless told. */
export function watchOptions(differences: Partial<WatchOptions> = {}): WatchOptions {
  return {
    source: { kind: "nvml" },
    interval: milliseconds(1000),
    deadline: milliseconds(5000),
    lookEvery: milliseconds(30_000),
    rules: {
      memoryAbove: undefined,
      growth: {
        perHour: bytes(1024 ** 3),
        window: milliseconds(600_000),
        warmUp: milliseconds(300_000),
      },
      ghostFor: milliseconds(60_000),
      unattributed: { above: bytes(1024 ** 3), for: milliseconds(300_000) },
      idleFor: undefined,
      busyFor: milliseconds(60_000),
      hasXids: true,
    },
    oncePer: milliseconds(600_000),
    span: undefined,
    count: undefined,
    untilAlert: false,
    choose: undefined,
    ...differences,
  };
}

/** A sink that remembers. */
export function rememberingSink(): WatchSink & {
  readonly told: string[];
  readonly events: WatchEvent[];
  readonly views: WatchView[];
} {
  const [told, events, views]: [string[], WatchEvent[], WatchView[]] = [[], [], []];
  return {
    told,
    events,
    views,
    remarks: [],
    show: (view) => void (views.length < 5000 && views.push(view)),
    tell(event) {
      events.push(event);
      const { alert, at } = event;
      told.push(`${(Date.parse(at) - START) / 1000 | 0} ${event.event} ${alert.message}`);
    },
  };
}
