/** A world in which a job runs, with a clock of its own: time passes only when everybody waits. */
import { setImmediate } from "node:timers";
import type { JobWorld } from "../../lib/action/job.ts";
import { type Pid, pid, type Uid, uid } from "../../lib/core/ids.ts";
import { absent, known, mapReading, type Reading } from "../../lib/core/reading.ts";
import { type Milliseconds, milliseconds } from "../../lib/core/units.ts";
import type { ChildEnd } from "../../lib/model/diff.ts";
import type { DriverReport, Gpu } from "../../lib/model/gpu.ts";
import type { DeviceUse } from "../../lib/model/observation.ts";
import { isStillRunning, type Process, type ProcStat } from "../../lib/model/process.ts";
import type { AuditJson } from "../../lib/model/schema/audit.ts";
import type {
  AuditLog,
  CaughtSignal,
  Clock,
  JobRunner,
  PassedSignal,
  Population,
  Signal,
  StartFailure,
  World,
} from "../../lib/world/ports.ts";
import { type MachineSpec, observe, reportOf } from "./machine.ts";

/** What a machine's own pid is; processes with this parent are the job's. */
export const OWN_PID = 99_999;
/** The command itself. */
export const COMMAND_PID = 900;

const JAX_LIBRARY = "/opt/venv/lib/python3.12/site-packages/jaxlib/libjax_common.so";

/** How the world of a job goes. Times are milliseconds since its beginning. */
export interface JobWorldSpec {
  /** The machine at a moment; a function may look at what `signals` were sent so far. */
  readonly machine: (atMs: number, signals: readonly SentSignal[]) => MachineSpec | "no answer";
  /** When the command ends by itself; never unless given. */
  readonly endsAtMs?: number;
  readonly end?: ChildEnd;
  /** The command ends some time after this signal. */
  readonly diesOf?: { readonly signal: Signal | PassedSignal; readonly afterMs: number };
  readonly failsToStart?: StartFailure;
  /** Adds to the GPUs what the driver keeps on record of their users, before the command and after it was started. */
  readonly account?: (gpus: readonly Gpu[], moment: { readonly isAfter: boolean }) => readonly Gpu[];
  /** What a process has mapped at a moment; JAX's library unless given. */
  readonly mappedFiles?: (id: Pid, atMs: number) => readonly string[];
  /** Signals that reach this program. */
  readonly caught?: readonly (CaughtSignal & { readonly atMs: number })[];
}

export interface SentSignal {
  readonly atMs: number;
  readonly pid: number;
  readonly signal: Signal | PassedSignal;
}

export interface FakeJobWorld extends JobWorld, Pick<World, "openUses" | "openPopulation"> {
  readonly signals: readonly SentSignal[];
  /** Commands that were started, with the variables they got. */
  readonly started: readonly {
    readonly command: readonly string[];
    readonly variables: Readonly<Record<string, string>>;
  }[];
  /** Records of what was ended. */
  readonly audit: AuditLog & { readonly records: readonly AuditJson[] };
  readonly samples: number;
}

/** Builds the world. */
export function jobWorld(spec: JobWorldSpec): FakeJobWorld {
  const clock = new VirtualClock();
  const signals: SentSignal[] = [];
  const started: FakeJobWorld["started"][number][] = [];
  const records: AuditJson[] = [];
  let samples = 0;
  const withAccount = (report: DriverReport): DriverReport => ({
    ...report,
    gpus: spec.account?.(report.gpus, { isAfter: started.length > 0 }) ?? report.gpus,
  });
  const machine = () => {
    const now = spec.machine(clock.nowMs, signals);
    return started.length > 0 || now === "no answer" ? now : withoutJob(now);
  };
  const report = () => {
    const now = machine();
    return now === "no answer" ? absent("timed-out") : known(withAccount(reportOf(now)));
  };
  const stats = () => statsOf(machine());
  const { promise: ended, resolve: settle } = Promise.withResolvers<ChildEnd>();
  const send = (target: number, signal: Signal | PassedSignal) => {
    signals.push({ atMs: clock.nowMs, pid: target, signal });
    if (target === COMMAND_PID && spec.diesOf?.signal === signal) {
      clock.after(
        spec.diesOf.afterMs,
        () => settle({ kind: "killed", signal: signal === "SIGKILL" ? 9 : 15 }),
      );
    }
  };
  const runner: JobRunner = {
    ownPid: pid(OWN_PID),
    start(command, variables) {
      if (spec.failsToStart) return spec.failsToStart;
      started.push({ command, variables });
      if (spec.endsAtMs !== undefined) {
        clock.after(spec.endsAtMs - clock.nowMs, () => settle(spec.end ?? { kind: "exited", status: 0 }));
      }
      return {
        identity: { pid: pid(COMMAND_PID), startTicks: stats().get(COMMAND_PID)?.startTicks ?? fail() },
        ended,
        send: (signal) => send(COMMAND_PID, signal),
      };
    },
    listDescendants: () => descendantsOf(stats()),
    hasDescendants: () => descendantsOf(stats()).some(isStillRunning),
    [Symbol.dispose]: () => {},
  };
  return {
    clock,
    signals,
    started,
    audit: {
      path: "/var/log/gpuctl/audit.jsonl",
      records,
      read: () => absent("not-reported"),
      append: (record) => void records.push(record),
    },
    get samples() {
      return samples;
    },
    processes: {
      findProcess: (id) => stats().get(id),
      openProcess: ({ pid: id, startTicks }) =>
        stats().get(id)?.startTicks === startTicks
          ? {
            send(signal) {
              send(id, signal);
              return "sent";
            },
            [Symbol.dispose]: () => {},
          }
          : undefined,
    },
    details: {
      readArguments: (id) => argumentsOf(machine(), id),
      readMappedFiles: (id) => known(spec.mappedFiles?.(id, clock.nowMs) ?? [JAX_LIBRARY]),
    },
    observe() {
      const now = machine();
      const seen = observe(now === "no answer" ? { processes: [] } : now);
      const report = now === "no answer" ? absent("timed-out") : mapReading(seen.report, withAccount);
      return Promise.resolve({ ...seen, report });
    },
    openSampler: () =>
      Promise.resolve({
        sample() {
          samples++;
          return Promise.resolve(report());
        },
        [Symbol.asyncDispose]: () => Promise.resolve(),
      }),
    openPopulation: () => Promise.resolve(populationOf(machine)),
    openUses: () =>
      Promise.resolve({
        readUses: (pids) => Promise.resolve(new Map(pids.map((each) => [each, usesOf(machine(), each)]))),
        [Symbol.dispose]: () => {},
      }),
    catchSignals(onSignal) {
      for (const { atMs, ...caught } of spec.caught ?? []) {
        clock.after(atMs - clock.nowMs, () => onSignal(caught));
      }
      return { [Symbol.dispose]: () => {} };
    },
    runner,
  };
}

/** The processes of a machine, as one of them after the other is read. Who is not there can be read by nobody. */
export function populationOf(machine: () => MachineSpec | "no answer"): Population {
  const processes = () => {
    const now = machine();
    const { scan } = observe(now === "no answer" ? { processes: [] } : now);
    return scan.ok ? scan.value.processes : new Map<Pid, Process>();
  };
  return {
    listPids: () => [...processes().keys()],
    readProcess: (id) => Promise.resolve(processes().get(id)),
    readUsers: () => known(USERS),
    readGroups: () => known(new Map()),
    [Symbol.dispose]: () => {},
  };
}

const USERS: ReadonlyMap<Uid, string> = new Map([[uid(0), "root"], [uid(1000), "alice"], [uid(1001), "bob"]]);

function usesOf(machine: MachineSpec | "no answer", id: Pid): Reading<readonly DeviceUse[]> {
  const { scan } = observe(machine === "no answer" ? { processes: [] } : machine);
  return scan.ok ? known(scan.value.uses.get(id) ?? []) : scan;
}

/** The machine before the command was started. */
function withoutJob(machine: MachineSpec): MachineSpec {
  const isJobs = ({ pid, parent }: { readonly pid: number; readonly parent?: number }) =>
    pid === COMMAND_PID || parent === OWN_PID || parent === COMMAND_PID;
  return { ...machine, processes: machine.processes.filter((process) => !isJobs(process)) };
}

function statsOf(machine: MachineSpec | "no answer"): ReadonlyMap<number, ProcStat> {
  const seen = observe(machine === "no answer" ? { processes: [] } : machine);
  return seen.scan.ok ? seen.scan.value.processes : new Map<Pid, ProcStat>();
}

function descendantsOf(stats: ReadonlyMap<number, ProcStat>): ProcStat[] {
  const found = [...stats.values()].filter(({ parentPid }) => parentPid === OWN_PID);
  for (const process of found) {
    found.push(...[...stats.values()].filter(({ parentPid }) => parentPid === process.pid));
  }
  return found;
}

function argumentsOf(machine: MachineSpec | "no answer", id: Pid) {
  const found = machine === "no answer" ? undefined : machine.processes.find((process) => process.pid === id);
  return found ? known(found.argv ?? ["python3.12", "train.py"]) : absent("exited");
}

function fail(): never {
  throw new Error(`the machine of a job has to have PID ${COMMAND_PID} when it starts`);
}

/** Jumps to the next moment that somebody waits for, once nobody has anything left to do. */
class VirtualClock implements Clock {
  nowMs = 0;
  #waiting: { readonly atMs: number; readonly act: () => void }[] = [];
  #isTurning = false;

  now(): string {
    return new Date(Date.UTC(2026, 10, 30, 12) + this.nowMs).toISOString();
  }

  monotonic(): Milliseconds {
    return milliseconds(this.nowMs);
  }

  pause(span: Milliseconds): Promise<void> {
    return new Promise((resolve) => this.after(span, resolve));
  }

  after(spanMs: number, act: () => void): void {
    this.#waiting.push({ atMs: this.nowMs + Math.max(0, spanMs), act });
    this.#waiting.sort((a, b) => a.atMs - b.atMs);
    this.#turn();
  }

  #turn(): void {
    if (this.#isTurning || this.#waiting.length === 0) return;
    this.#isTurning = true;
    // After the runtime's own queue of promises is empty.
    setImmediate(() => {
      this.#isTurning = false;
      const next = this.#waiting.shift();
      if (next) {
        this.nowMs = Math.max(this.nowMs, next.atMs);
        next.act();
      }
      this.#turn();
    });
  }
}
