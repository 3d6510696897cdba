import type { BusId, DeviceMinor, GpuIndex, GpuUuid, Pid } from "../core/ids.ts";
import type { Absent, Reading } from "../core/reading.ts";
import type { Bytes, Percent } from "../core/units.ts";
import type { AccountedProcess } from "./accounting.ts";
import type { GpuHealth, PendingMode } from "./gpu_health.ts";

/** What the driver says of itself. */
export interface Driver {
  /** The kernel module's version, as three or more numbers with dots. */
  readonly version: Reading<string>;
  /** libnvidia-ml's version; differs from the module's after an update without a reload. */
  readonly libraryVersion: Reading<string>;
  /** Highest CUDA version that this driver runs, `13.0`. */
  readonly cudaVersion: Reading<string>;
}

/** Kinds of context the driver lists: nvidia-smi's C, G, C+G and M+C. */
export const CONTEXT_KINDS = ["compute", "graphics", "compute+graphics", "mps-client", "unknown"] as const;
export type ContextKind = typeof CONTEXT_KINDS[number];

/** Memory of one process on one GPU as the driver lists it. The pid may be dead: it names who allocated, not who holds. */
export interface Context {
  readonly pid: Pid;
  readonly kind: ContextKind;
  readonly used: Reading<Bytes>;
  /** MIG GPU instance and compute instance ids. */
  readonly gpuInstance?: number;
  readonly computeInstance?: number;
  /** The name that the source printed beside the pid, if it prints any. */
  readonly name?: string;
}

/** `known` may be empty; `incomplete` says what is missing; `unknown` is not "no process". */
export type ProcessList =
  | { readonly state: "known"; readonly contexts: readonly Context[] }
  | { readonly state: "incomplete"; readonly contexts: readonly Context[]; readonly reason: Absent }
  | { readonly state: "unknown"; readonly reason: Absent };

/** Recovery actions of NVML_FI_DEV_GET_GPU_RECOVERY_ACTION (nvml.h, field 230). */
export const RECOVERY_ACTIONS = [
  "none",
  "reset",
  "reboot",
  "drain-p2p",
  "drain-and-reset",
  "recover-imex-domain",
  "bus-reset",
  "system-reboot",
] as const;
export type RecoveryAction = typeof RECOVERY_ACTIONS[number];

export const COMPUTE_MODES = ["default", "exclusive-thread", "prohibited", "exclusive-process"] as const;
export type ComputeMode = typeof COMPUTE_MODES[number];

export type { PendingMode };

/** One MIG device: a compute instance inside a GPU instance. Memory belongs to the GPU instance and is shared within it. */
export interface MigInstance {
  readonly uuid: GpuUuid;
  readonly gpuInstance: Reading<number>;
  readonly computeInstance: Reading<number>;
  /** Profile name such as `1g.10gb`, where the source says it. */
  readonly profile: Reading<string>;
  readonly memoryTotal: Reading<Bytes>;
  readonly memoryUsed: Reading<Bytes>;
}

/** One GPU as a source describes it. */
export interface Gpu {
  readonly index: GpuIndex;
  readonly uuid: GpuUuid;
  readonly name: Reading<string>;
  readonly busId: Reading<BusId>;
  readonly minor: Reading<DeviceMinor>;
  readonly memoryTotal: Reading<Bytes>;
  /** Without the driver's reserve unless `usedIncludesReserve`. */
  readonly memoryUsed: Reading<Bytes>;
  readonly memoryReserved: Reading<Bytes>;
  readonly memoryFree: Reading<Bytes>;
  /** True for nvmlDeviceGetMemoryInfo (v1) and nvidia-smi before 510; never compare across. */
  readonly usedIncludesReserve: Reading<boolean>;
  readonly utilization: Reading<Percent>;
  readonly persistenceMode: Reading<boolean>;
  readonly computeMode: Reading<ComputeMode>;
  readonly displayActive: Reading<boolean>;
  readonly migMode: Reading<PendingMode>;
  readonly migInstances: Reading<readonly MigInstance[]>;
  readonly recoveryAction: Reading<RecoveryAction>;
  readonly processList: ProcessList;
  /** Only where it was asked for. */
  readonly health?: GpuHealth;
  /** Likewise. */
  readonly accounting?: Reading<readonly AccountedProcess[]>;
}

/** A GPU that the driver counts and could not open. */
export interface UnreadableGpu {
  readonly index: GpuIndex;
  readonly reason: Absent;
}

/** Everything one source says of the driver and its GPUs at one moment. */
export interface DriverReport {
  readonly driver: Driver;
  readonly gpus: readonly Gpu[];
  readonly unreadableGpus: readonly UnreadableGpu[];
}

/** The contexts a list has; none for a list that is unknown. Ask its state before you conclude anything from that. */
export function contextsOf(list: ProcessList): readonly Context[] {
  return list.state === "unknown" ? [] : list.contexts;
}
