/**
 * Machines as data, for judging without one: processes, what each has of which GPU, and what the driver lists. The
 * numbers of descriptors and mappings are those seen on an H200 with driver 580.159.04.
 */
import type { TimedJudgement } from "../../lib/analysis/ending.ts";
import { judgeHolders } from "../../lib/analysis/judge.ts";
import { deviceMinor, gpuIndex, gpuUuid, parseBusId, type Pid, pid, uid } from "../../lib/core/ids.ts";
import { absent, known, type Reading, type Why } from "../../lib/core/reading.ts";
import { bytes, clockTicks, percent } from "../../lib/core/units.ts";
import type { Context, ContextKind, DriverReport, Gpu, ProcessList } from "../../lib/model/gpu.ts";
import type { DeviceUse, Observation, ProcessScan } from "../../lib/model/observation.ts";
import type { Owner, Process, ProcessState } from "../../lib/model/process.ts";

const MIB = 1024 ** 2;

/**
 * How a process touches a GPU: with a context of its own; with what fork(2) copies of one; with a driver that was started
 * and has no context (cuInit alone, or a context that was given up); with descriptors only.
 */
export type Touch = "context" | "inherited" | "visible" | "monitor";

/** What this reader is kept from seeing of a process. */
export type Hidden =
  | ("argv" | "executable" | "identity" | "owner" | "depth" | "namespace" | "hangup" | "threads")
  | ("descriptors" | "mappings");

export interface ProcessSpec {
  readonly pid: number;
  /** 1 unless given. */
  readonly parent?: number;
  readonly program?: string;
  readonly argv?: readonly string[];
  readonly comm?: string;
  readonly state?: ProcessState;
  readonly threadStates?: readonly ProcessState[];
  readonly user?: { readonly uid: number; readonly name: string };
  readonly session?: number;
  readonly group?: number;
  readonly terminal?: number;
  readonly owner?: Partial<Owner>;
  readonly environment?: Readonly<Record<string, string>> | "erased" | "no-permission";
  readonly ignoresHangup?: boolean;
  readonly namespacePids?: readonly number[];
  readonly isExiting?: boolean;
  readonly waitsIn?: string;
  readonly brokenOutput?: boolean;
  readonly startTicks?: number;
  readonly cpuTicks?: number;
  readonly touch?: Touch;
  /** GPU indexes it touches, 0 unless given. */
  readonly on?: readonly number[];
  /** GPUs that it could use besides those. */
  readonly sees?: readonly number[];
  /** GPUs that it has open besides those and nothing more: every user of NVML opens all. */
  readonly opens?: readonly number[];
  /** Context bytes in MiB on each of them as the driver lists them; for `context` 520 unless given. */
  readonly mib?: number;
  readonly kind?: ContextKind;
  /** Live processes that share its descriptors with it, or why that is not known. */
  readonly sharedWith?: readonly number[] | Why;
  readonly hides?: readonly Hidden[];
}

export interface MachineSpec {
  readonly processes: readonly ProcessSpec[];
  /** Contexts of pids that are not alive. */
  readonly dead?: readonly { readonly pid: number; readonly on?: readonly number[]; readonly mib: number }[];
  /** One entry a GPU; `usedMib` is what is listed unless given. */
  readonly gpus?: readonly {
    readonly usedMib?: number;
    readonly list?: "known" | "incomplete" | Why;
    readonly utilization?: number;
  }[];
  readonly reader?: {
    readonly isRoot?: boolean;
    readonly isInitial?: boolean;
    readonly unreadable?: number;
    /** Those of them that the reader answers for. */
    readonly ownUnreadable?: readonly number[];
    readonly mayTrace?: boolean;
    readonly cutShort?: Why;
    /** Pids of its helpers. */
    readonly helpers?: readonly number[];
  };
  readonly supervisors?: readonly number[];
  /** Clock ticks since boot at the moment of the look. */
  readonly ticks?: number;
  /** Pids of this program's parent and so on. */
  readonly ancestors?: readonly number[];
}

const GRADES: Readonly<
  Record<
    Touch,
    {
      readonly descriptors: number;
      readonly mappings: number;
      readonly controlMappings: number;
      readonly uvmMappings: number;
    }
  >
> = {
  context: { descriptors: 23, mappings: 3, controlMappings: 27, uvmMappings: 1 },
  inherited: { descriptors: 23, mappings: 3, controlMappings: 27, uvmMappings: 0 },
  visible: { descriptors: 7, mappings: 2, controlMappings: 1, uvmMappings: 0 },
  monitor: { descriptors: 3, mappings: 0, controlMappings: 0, uvmMappings: 0 },
};

/** The stable UUID of a GPU of these machines. */
export function uuidOf(index: number): ReturnType<typeof gpuUuid> {
  return gpuUuid(`GPU-0000000${index}-0000-4000-8000-000000000000`);
}

/** Builds the observation that such a machine would give. PID 1 is always there. */
export function observe(spec: MachineSpec): Observation {
  const processes = [{ pid: 1, program: "/usr/lib/systemd/systemd", parent: 0 }, ...spec.processes];
  return {
    takenAt: "2026-11-30T12:00:00.000Z",
    ticks: clockTicks(spec.ticks ?? 1_000_000),
    source: "nvml",
    simulated: false,
    host: {
      name: known("node1"),
      bootId: known("11111111-2222-3333-4444-555555555555"),
      kernel: known("6.18.0"),
    },
    report: known(reportOf(spec)),
    scan: known(scanOf(spec, processes)),
    problems: [],
  };
}

/** The driver's side of it. */
export function reportOf(spec: MachineSpec): DriverReport {
  const gpus = spec.gpus ?? [{}];
  return {
    driver: { version: known("580.159.04"), libraryVersion: known("580.159.04"), cudaVersion: known("13.0") },
    gpus: gpus.map((gpu, index) => gpuOf(index, gpu, contextsOn(index, spec))),
    unreadableGpus: [],
  };
}

function contextsOn(index: number, spec: MachineSpec): Context[] {
  const live = spec.processes.filter(({ touch, mib, on = [0] }) =>
    (touch === "context" || mib !== undefined) && on.includes(index)
  )
    .map(({ pid: id, mib = 520, kind = "compute" }): Context => ({
      pid: pid(id),
      kind,
      used: known(bytes(mib * MIB)),
    }));
  const dead = (spec.dead ?? []).filter(({ on = [0] }) => on.includes(index))
    .map(({ pid: id, mib }): Context => ({ pid: pid(id), kind: "compute", used: known(bytes(mib * MIB)) }));
  return [...live, ...dead].sort((a, b) => a.pid - b.pid);
}

function gpuOf(index: number, spec: NonNullable<MachineSpec["gpus"]>[number], contexts: Context[]): Gpu {
  const listed = contexts.reduce((sum, { used }) => sum + (used.ok ? used.value : 0), 0);
  const total = bytes(143_771 * MIB);
  const reserved = bytes(615 * MIB);
  const used = bytes(spec.usedMib === undefined ? listed : spec.usedMib * MIB);
  return {
    index: gpuIndex(index),
    uuid: uuidOf(index),
    name: known("NVIDIA H200"),
    busId: known(parseBusId(`0000:0${index}:00.0`)),
    minor: known(deviceMinor(index)),
    memoryTotal: known(total),
    memoryUsed: known(used),
    memoryReserved: known(reserved),
    memoryFree: known(bytes(total - reserved - used)),
    usedIncludesReserve: known(false),
    utilization: spec.utilization === undefined ? absent("not-asked") : known(percent(spec.utilization)),
    persistenceMode: known(true),
    computeMode: known("default"),
    displayActive: known(false),
    migMode: known({ current: false, pending: false }),
    migInstances: known([]),
    recoveryAction: known("none"),
    processList: listOf(spec.list ?? "known", contexts),
  };
}

function listOf(state: "known" | "incomplete" | Why, contexts: readonly Context[]): ProcessList {
  if (state === "known") return { state, contexts };
  if (state === "incomplete") return { state, contexts, reason: absent("no-permission", "1 row hidden") };
  return { state: "unknown", reason: absent(state) };
}

function scanOf(spec: MachineSpec, processes: readonly ProcessSpec[]): ProcessScan {
  const unseen = processes.filter((process) => hidesOf(process).has("descriptors")).length;
  const { isRoot = true, isInitial = true, unreadable = unseen, cutShort, helpers = [] } = spec.reader ?? {};
  const namespace = isInitial ? "pid:[4026531836]" : "pid:[4026532000]";
  const built = new Map<Pid, Process>(
    processes.map((process) => [pid(process.pid), processOf(process, namespace)]),
  );
  return {
    reader: {
      pid: pid(99_999),
      uid: uid(isRoot ? 0 : 1000),
      isRoot,
      mayTrace: spec.reader?.mayTrace ?? isRoot,
      isInitialPidNamespace: known(isInitial),
      pidNamespace: known(namespace),
      ownPids: [pid(99_999), ...helpers.map(pid)],
      ancestorPids: (spec.ancestors ?? []).map(pid),
    },
    processes: built,
    uses: new Map(processes.flatMap((process) => {
      const uses = usesOf(process);
      return uses.length > 0 ? [[pid(process.pid), uses] as const] : [];
    })),
    sharedWith: new Map(
      processes.flatMap(({ pid: id, sharedWith }) =>
        sharedWith
          ? [
            [
              pid(id),
              typeof sharedWith === "string" ? absent(sharedWith) : known(sharedWith.map(pid)),
            ] as const,
          ]
          : []
      ),
    ),
    supervisors: spec.supervisors
      ? known(spec.supervisors.flatMap((id) => built.get(pid(id)) ?? []))
      : absent("not-asked"),
    coverage: {
      processes: processes.length,
      unreadable,
      ownUnreadable: (spec.reader?.ownUnreadable ?? []).map(pid),
      ...(cutShort && { cutShort: absent(cutShort) }),
    },
  };
}

function usesOf({ touch, on = [0], sees = [], opens = [], hides = [] }: ProcessSpec): DeviceUse[] {
  if (touch === undefined || hides.includes("descriptors")) return [];
  const mappings = (count: number) => hides.includes("mappings") ? absent("no-permission") : known(count);
  const ofGpus = (grade: Touch, gpus: readonly number[]) =>
    gpus.map((minor): DeviceUse => ({
      node: { kind: "gpu", minor: deviceMinor(minor) },
      descriptors: GRADES[grade].descriptors,
      mappings: mappings(GRADES[grade].mappings),
    }));
  const { controlMappings, uvmMappings } = GRADES[touch];
  return [
    ...ofGpus(touch, on),
    ...ofGpus("visible", sees),
    ...ofGpus("monitor", opens),
    { node: { kind: "control" }, descriptors: 2, mappings: mappings(controlMappings) },
    { node: { kind: "uvm" }, descriptors: touch === "monitor" ? 2 : 4, mappings: mappings(uvmMappings) },
  ];
}

function hidesOf({ hides = [] }: ProcessSpec): ReadonlySet<Hidden> {
  return new Set(hides);
}

/** @param namespace of the reader, in which a process without `namespacePids` lives too. */
function processOf(spec: ProcessSpec, namespace: string): Process {
  const program = spec.program ?? "/usr/bin/python3.12";
  const name = program.slice(program.lastIndexOf("/") + 1);
  const threadStates = spec.threadStates ?? [spec.state ?? "S"];
  const environment = spec.environment ?? {};
  const hides = hidesOf(spec);
  const seen = <T>(part: Hidden, value: T): Reading<T> =>
    hides.has(part) ? absent("no-permission") : known(value);
  return {
    pid: pid(spec.pid),
    startTicks: clockTicks(spec.startTicks ?? Math.min(spec.pid * 10, 500_000)),
    comm: spec.comm ?? name.slice(0, 15),
    state: spec.state ?? "S",
    parentPid: spec.parent ?? 1,
    processGroup: spec.group ?? spec.pid,
    session: spec.session ?? spec.pid,
    terminal: spec.terminal ?? 0,
    threads: threadStates.length,
    cpuTicks: clockTicks(spec.cpuTicks ?? 100),
    isKernelThread: false,
    isExiting: spec.isExiting ?? false,
    uid: seen("identity", uid(spec.user?.uid ?? 1000)),
    user: seen("identity", spec.user?.name ?? "alice"),
    argv: seen("argv", spec.argv ?? [name, "train.py"]),
    executable: seen("executable", program),
    owner: seen("owner", {
      cgroup: "/user.slice/user-1000.slice/session-3.scope",
      isCgroupDeleted: false,
      ...spec.owner,
    }),
    environment: typeof environment === "string"
      ? absent(environment)
      : known(new Map(Object.entries(environment))),
    namespacePids: seen("depth", spec.namespacePids ?? [spec.pid]),
    pidNamespace: seen("namespace", namespaceOf(spec.namespacePids) ?? namespace),
    ignoresHangup: seen("hangup", spec.ignoresHangup ?? false),
    stdio: known({
      input: "/dev/null",
      output: "pipe:[1]",
      error: "pipe:[1]",
      isOutputBroken: known(spec.brokenOutput ?? false),
    }),
    threadStates: seen("threads", threadStates),
    waitsIn: spec.waitsIn === undefined ? absent("not-asked") : known(spec.waitsIn),
  };
}

/** Every PID 1 inside makes a namespace; all processes of these machines that are as deep share one. */
function namespaceOf(pids: readonly number[] = []): string | undefined {
  return pids.length > 1 ? `pid:[402653${3000 + pids.length}]` : undefined;
}

/** The same machine judged, as planning takes it. */
export function timedLook(spec: MachineSpec): TimedJudgement {
  const { report, scan, ticks } = observe(spec);
  if (!report.ok || !scan.ok) throw new Error("Cannot judge a machine that was not observed");
  return { judgement: judgeHolders(report.value, scan.value), scan: scan.value, ticks };
}
