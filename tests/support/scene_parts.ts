/** The parts that hand-made snapshots are put together from. Numbers are those of an H200 with driver 580.159.04. */
import { deviceMinor, gpuIndex, type GpuUuid, gpuUuid, parseBusId, pid, uid } from "../../lib/core/ids.ts";
import { type Absent, absent, known, type Reading } from "../../lib/core/reading.ts";
import { type Bytes, bytes, clockTicks, sumBytes } from "../../lib/core/units.ts";
import { type Context, contextsOf, type Gpu, type ProcessList } from "../../lib/model/gpu.ts";
import type { ProcessState } from "../../lib/model/process.ts";
import type {
  Ghost,
  GpuAccount,
  Holder,
  HolderClass,
  HolderDevice,
  Problem,
  Snapshot,
} from "../../lib/model/snapshot.ts";

const MIB = 1024 ** 2;

/** A training as its arguments show it. */
export const TRAIN_ARGV = ["python", "train.py", "--epochs", "90", "--data", "/srv/imagenet"] as const;

/** Megabytes as the driver counts them. */
export function mib(count: number): Bytes {
  return bytes(count * MIB);
}

/** The UUID of the GPU with this index in every scene. */
export function sceneUuid(index: number): GpuUuid {
  return gpuUuid(`GPU-${index}1234567-0000-4000-8000-00000000000${index}`);
}

/** One row of the driver's list. */
export function context(number: number, count: number, more: Partial<Context> = {}): Context {
  return { pid: pid(number), kind: "compute", used: known(mib(count)), ...more };
}

/** A complete list. */
export function listed(...contexts: readonly Context[]): ProcessList {
  return { state: "known", contexts };
}

/** A list that could not be read. */
export function unlisted(reason: Absent): ProcessList {
  return { state: "unknown", reason };
}

/** One GPU in order, with this list; `usedMib` is what is listed unless given. */
export function account(
  index: number,
  processList: ProcessList,
  { usedMib, cause, ...more }: Partial<Gpu> & { readonly usedMib?: number; readonly cause?: string } = {},
): GpuAccount {
  const listedBytes = sumBytes(
    contextsOf(processList).flatMap(({ used }) => used.ok ? [used.value] : []),
  );
  const memoryUsed = more.memoryUsed ?? known(usedMib === undefined ? listedBytes : mib(usedMib));
  const gpu: Gpu = {
    index: gpuIndex(index),
    uuid: sceneUuid(index),
    name: known("NVIDIA H200"),
    busId: known(parseBusId(`0000:${(index + 6).toString(16)}:00.0`)),
    minor: known(deviceMinor(index)),
    memoryTotal: known(mib(143_771)),
    memoryReserved: known(mib(615)),
    memoryFree: memoryUsed.ok ? known(bytes(143_156 * MIB - memoryUsed.value)) : memoryUsed,
    usedIncludesReserve: known(false),
    utilization: absent("not-asked"),
    persistenceMode: known(true),
    computeMode: known("default"),
    displayActive: known(false),
    migMode: known({ current: false, pending: false }),
    migInstances: known([]),
    recoveryAction: known("none"),
    processList,
    ...more,
    memoryUsed,
  };
  const unattributed: Reading<Bytes> = !memoryUsed.ok
    ? memoryUsed
    : processList.state === "known"
    ? known(bytes(memoryUsed.value - listedBytes))
    : processList.reason;
  return cause === undefined ? { gpu, unattributed } : { gpu, unattributed, cause };
}

/** What a holder has on one GPU. `used` has it mapped, `inherited` and `seen` without memory; `watched` only open. */
export function device(
  index: number,
  grade: "used" | "inherited" | "seen" | "watched",
  count = 0,
): HolderDevice {
  return {
    gpu: sceneUuid(index),
    contextBytes: known(mib(count)),
    isOpen: known(true),
    isMapped: known(grade !== "watched"),
  };
}

/** The advice for a process that may be ended. */
export function endSafely(number: number): string {
  return `To end it safely: gpuctl clean-zombies --pid ${number}.`;
}

interface HolderSpec {
  readonly class: HolderClass;
  readonly argv: readonly string[];
  readonly devices: readonly HolderDevice[];
  readonly user?: string;
  readonly state?: ProcessState;
  readonly threads?: number;
  readonly parent?: number;
  readonly cgroup?: string;
  readonly evidence?: readonly string[];
  readonly advice?: string;
}

const UIDS: Readonly<Record<string, number>> = { root: 0, alice: 1001, bob: 1002, gdm: 120 };

/** One holder; alice's, asleep, below its shell unless given. */
export function holder(number: number, spec: HolderSpec, more: Partial<Holder> = {}): Holder {
  const user = spec.user ?? "alice";
  return {
    pid: pid(number),
    startTicks: known(clockTicks(100_000 + number)),
    uid: known(uid(UIDS[user] ?? 65_534)),
    user: known(user),
    argv: known(spec.argv),
    name: (spec.argv[0] ?? "python").replace(/.*\//, "").slice(0, 15),
    state: known(spec.state ?? "S"),
    threads: known(spec.threads ?? 19),
    parentPid: known(spec.parent ?? 600),
    owner: known({
      cgroup: spec.cgroup ?? "/user.slice/user-1001.slice/session-3.scope",
      isCgroupDeleted: false,
    }),
    class: spec.class,
    evidence: spec.evidence ?? ["its starter lives: PID 600 (bash)"],
    advice: spec.advice ?? "None: it is at work.",
    devices: spec.devices,
    ...more,
  };
}

/** A dead process's context with those who may keep it. */
export function ghost(number: number, index: number, count: number, keepers: Ghost["likelyHolders"]): Ghost {
  return { pid: pid(number), gpu: sceneUuid(index), contextBytes: known(mib(count)), likelyHolders: keepers };
}

/** A problem of its own. */
export function problem(subject: string, reason: Absent, message: string): Problem {
  return { subject, reason, message };
}

/** One look at a machine in order, of which all was seen. */
export function snapshot(gpus: readonly GpuAccount[], more: Partial<Snapshot> = {}): Snapshot {
  return {
    takenAt: known("2026-11-30T09:26:33.000Z"),
    source: "nvml",
    simulated: false,
    host: {
      name: known("node7"),
      bootId: known("5f6a0c1e-7d0b-4a62-9a55-0d7c2f1b3e44"),
      kernel: known("6.18.0"),
    },
    driver: known({
      version: known("580.159.04"),
      libraryVersion: known("580.159.04"),
      cudaVersion: known("13.0"),
    }),
    gpus,
    unreadableGpus: [],
    holders: [],
    ghosts: [],
    problems: [],
    ...more,
  };
}
