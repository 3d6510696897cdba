/** Jobs as data, for judging their isolation without a GPU. */
import { deviceMinor, gpuIndex, type GpuUuid, pid } from "../../../lib/core/ids.ts";
import { type Absent, absent, known, type Reading } from "../../../lib/core/reading.ts";
import { type Bytes, bytes, milliseconds } from "../../../lib/core/units.ts";
import type { Framework } from "../../../lib/analysis/frameworks.ts";
import type { IsolationInput } from "../../../lib/analysis/isolation_input.ts";
import { IsolationTally } from "../../../lib/analysis/isolation_tally.ts";
import type { ContextKind, DriverReport, Gpu, MigInstance, ProcessList } from "../../../lib/model/gpu.ts";
import type { AllowedDevice, IsolatedProcess } from "../../../lib/model/isolation.ts";
import { A, B } from "./visible_devices_machine.ts";

export const MIB = 1024 ** 2;
const UNASKED = absent("not-asked");

export interface ContextSpec {
  readonly pid: number;
  readonly mib?: number | Absent;
  readonly kind?: ContextKind;
  readonly gpuInstance?: number;
}

export interface GpuSpec {
  readonly contexts?: readonly ContextSpec[];
  readonly list?: "known" | "incomplete" | "unknown";
  readonly usedMib?: number | Absent;
  readonly name?: string;
  readonly migs?: readonly MigInstance[];
}

export interface ProcessSpec {
  readonly pid: number;
  readonly environment?: Readonly<Record<string, string>> | "erased" | "no-permission";
  readonly container?: boolean;
  /** Descriptors and mappings of /dev/nvidiaN, by N. */
  readonly devices?: Readonly<Record<number, readonly [descriptors: number, mappings: number]>>;
}

export interface CaseSpec {
  readonly allowed?: readonly AllowedDevice[];
  readonly thresholdMib?: number;
  readonly before?: readonly GpuSpec[] | Absent;
  /** Looks, 100 ms apart; one that was not answered is its reason. */
  readonly looks: readonly (readonly GpuSpec[] | Absent)[];
  readonly processes?: readonly ProcessSpec[];
  readonly others?: readonly number[];
  readonly unplaced?: readonly number[];
  readonly untold?: Absent;
  readonly lint?: IsolationInput["lint"];
  readonly frameworks?: Readonly<Record<number, Framework>>;
}

const UUIDS: readonly GpuUuid[] = [A, B];

/** A machine of two H200, unless the case says otherwise, and what was seen on it. The job may use GPU 1. */
export function isolationCase(spec: CaseSpec): IsolationInput {
  const [first = [{}, {}]] = spec.looks.flatMap((look) => "ok" in look ? [] : [look]);
  const idle = first.map(({ contexts: _contexts, list: _list, usedMib: _usedMib, ...gpu }): GpuSpec => gpu);
  const before = spec.before ?? idle;
  const tally = new IsolationTally();
  for (const [at, look] of spec.looks.entries()) {
    tally.add({ at: milliseconds(100 * (at + 1)), report: "ok" in look ? look : known(report(look)) });
  }
  const baseline: Reading<DriverReport> = "ok" in before ? before : known(report(before));
  return {
    allowed: spec.allowed ?? [{ gpu: B }],
    threshold: mib(spec.thresholdMib ?? 0),
    machine: report(idle),
    baseline,
    tally,
    processes: (spec.processes ?? []).map(processOf),
    whose: (each) =>
      spec.others?.includes(each) === true
        ? "other"
        : spec.unplaced?.includes(each) === true
        ? "unknown"
        : "job",
    untold: spec.untold,
    lint: spec.lint ?? [],
    frameworks: new Map(Object.entries(spec.frameworks ?? {}).map(([id, name]) => [pid(Number(id)), name])),
  };
}

export function mib(count: number): Bytes {
  return bytes(count * MIB);
}

function report(gpus: readonly GpuSpec[]): DriverReport {
  return {
    driver: { version: UNASKED, libraryVersion: UNASKED, cudaVersion: UNASKED },
    gpus: gpus.map(gpuOf),
    unreadableGpus: [],
  };
}

function gpuOf(
  { contexts = [], list = "known", usedMib = 0, name = "NVIDIA H200", migs }: GpuSpec,
  index: number,
): Gpu {
  return {
    index: gpuIndex(index),
    uuid: UUIDS[index] ?? A,
    name: known(name),
    busId: UNASKED,
    minor: known(deviceMinor(index)),
    memoryTotal: known(mib(143_771)),
    memoryUsed: typeof usedMib === "number" ? known(mib(usedMib)) : usedMib,
    memoryReserved: UNASKED,
    memoryFree: UNASKED,
    usedIncludesReserve: known(false),
    utilization: UNASKED,
    persistenceMode: UNASKED,
    computeMode: UNASKED,
    displayActive: UNASKED,
    migMode: migs ? known({ current: true, pending: true }) : absent("not-supported"),
    migInstances: migs ? known(migs) : absent("not-supported"),
    recoveryAction: UNASKED,
    processList: listOf(contexts, list),
  };
}

function listOf(specs: readonly ContextSpec[], state: "known" | "incomplete" | "unknown"): ProcessList {
  const contexts = specs.map(({ pid: id, mib: size = 520, kind = "compute", gpuInstance }) => ({
    pid: pid(id),
    kind,
    used: typeof size === "number" ? known(mib(size)) : size,
    ...(gpuInstance === undefined ? {} : { gpuInstance, computeInstance: 0 }),
  }));
  if (state === "known") return { state, contexts };
  const reason = absent("not-supported", "WSL");
  return state === "unknown" ? { state, reason } : { state, contexts, reason };
}

function processOf(
  { pid: id, environment = {}, container = false, devices = {} }: ProcessSpec,
): IsolatedProcess {
  const cgroup = { cgroup: "/", isCgroupDeleted: false };
  return {
    process: {
      pid: pid(id),
      comm: "python",
      argv: known(["python", "train.py"]),
      environment: typeof environment === "string"
        ? absent(environment)
        : known(new Map(Object.entries(environment))),
      owner: known(
        container ? { ...cgroup, container: { id: "c", runtime: "docker", isMonitor: false } } : cgroup,
      ),
    },
    uses: known(
      Object.entries(devices).map(([minor, [descriptors, mappings]]) => ({
        node: { kind: "gpu", minor: deviceMinor(Number(minor)) },
        descriptors,
        mappings: known(mappings),
      })),
    ),
  };
}
