/** What the kernel and the services of a machine say that bears on resetting a GPU. None of it needs the driver's library. */
import type { BusId, Pid } from "../core/ids.ts";
import type { Reading } from "../core/reading.ts";

/** One `NVRM: Xid` line of the kernel log. */
export interface XidEvent {
  readonly busId: BusId;
  readonly xid: number;
  /** Microseconds since boot, as /dev/kmsg stamps a record; absent where the source gives wall-clock time only. */
  readonly microsecondsSinceBoot: Reading<number>;
  /** The process that it names; absent for `'<unknown>'`. */
  readonly pid: Reading<Pid>;
  /** The name beside the pid, where the driver prints one. */
  readonly name: Reading<string>;
  /** What follows, as the driver wrote it. */
  readonly text: string;
}

/** What the kernel log holds since boot. */
export interface KernelLog {
  readonly xids: readonly XidEvent[];
  /** Lines of NVSwitches (`SXid`), as they are. */
  readonly switchErrors: readonly string[];
  /** Whether the ring buffer still reaches back to boot: if not, earlier events are not known. */
  readonly isWhole: boolean;
}

/** One line of /proc/modules. */
export interface KernelModule {
  readonly name: string;
  /** Absent where the kernel counts none: it was built without unloading modules (CONFIG_MODULE_UNLOAD). */
  readonly references?: number;
  /** Modules that use it. */
  readonly usedBy: readonly string[];
}

/** What kind of machine the driver runs on. `virtual-machine` has a GPU that was passed through. */
export const PLATFORMS = ["bare-metal", "virtual-machine", "wsl", "tegra"] as const;
export type Platform = typeof PLATFORMS[number];

/** A service that keeps GPUs open, or that a reset must take into account. */
export interface GpuService {
  /** Its systemd unit, `nvidia-dcgm.service`. */
  readonly unit: string;
  readonly kind: GpuServiceKind;
  readonly isActive: boolean;
  readonly mainPid: Reading<Pid>;
}
export const GPU_SERVICE_KINDS = [
  "persistence-daemon",
  "fabric-manager",
  "dcgm",
  "exporter",
  "mps",
  "imex",
  "display-manager",
  "telemetry",
  "powerd",
  "other",
] as const;
export type GpuServiceKind = typeof GPU_SERVICE_KINDS[number];

/** Facts of the machine as a whole. */
export interface ResetFacts {
  readonly kernelLog: Reading<KernelLog>;
  readonly modules: Reading<readonly KernelModule[]>;
  /** /sys/module/nvidia_drm/parameters/modeset. Absent as `not-supported` where the module is not loaded. */
  readonly drmModeset: Reading<boolean>;
  readonly platform: Reading<Platform>;
  /** Whether gpuctl itself runs in a container (or in another PID namespace than the machine's first). */
  readonly isContainer: Reading<boolean>;
  readonly services: Reading<readonly GpuService[]>;
  /** GPUs that the firmware chose for the console (boot_vga of sysfs), or with a framebuffer console on them. */
  readonly consoleGpus: Reading<ReadonlySet<BusId>>;
  /** Units that somebody made with systemd-run: once stopped they are gone, and nothing can start them again. */
  readonly transientUnits: Reading<ReadonlySet<string>>;
}
