/** What the driver says of a GPU beyond who uses it: read only when a reset is considered, as it costs time. */
import type { BusId } from "../core/ids.ts";
import type { Reading } from "../core/reading.ts";

/** Current and pending state of a mode that takes effect at the next reset. */
export interface PendingMode {
  readonly current: boolean;
  readonly pending: boolean;
}

/** State of the row remapper (nvmlDeviceGetRemappedRows, Ampere and later). */
export interface RemappedRows {
  readonly correctable: number;
  readonly uncorrectable: number;
  /** A remapping waits for the next reset. */
  readonly isPending: boolean;
  /** A remapping failed: the card wants replacing. */
  readonly hasFailed: boolean;
}

/** NVML_GPU_FABRIC_STATE_*, from 1. A GPU that is in no fabric has none of them. */
export const FABRIC_STATES = ["not-started", "in-progress", "completed"] as const;

/** nvmlGpuFabricInfoV_t: state and status of the NVLink fabric's registration. */
export interface FabricState {
  readonly state: typeof FABRIC_STATES[number];
  /** nvmlReturn_t of the registration; 0 is success. Means something once completed. */
  readonly status: number;
}

/** nvmlGpuVirtualizationMode_t, from 0. */
export const VIRTUALIZATION_MODES = [
  "none",
  "passthrough",
  "vgpu-guest",
  "vgpu-host",
  "vsga-host",
] as const;
export type VirtualizationMode = typeof VIRTUALIZATION_MODES[number];

/** What bears on whether a GPU needs a reset, and on whether it can have one. */
export interface GpuHealth {
  readonly ecc: Reading<PendingMode>;
  /** Uncorrected errors since the driver was loaded (volatile). */
  readonly uncorrectedErrors: Reading<number>;
  readonly remappedRows: Reading<RemappedRows>;
  /** Pages that are retired at the next reset (nvmlDeviceGetRetiredPagesPendingStatus, before Ampere). */
  readonly hasRetirementPending: Reading<boolean>;
  /** GPUs at the other end of active NVLinks, each once; empty where it is known that there are none. */
  readonly nvlinkPeers: Reading<readonly BusId[]>;
  /** Whether some NVLink leads to an NVSwitch. */
  readonly hasNvSwitch: Reading<boolean>;
  readonly virtualization: Reading<VirtualizationMode>;
  readonly fabric: Reading<FabricState>;
  /** Streaming multiprocessor clock now, MHz (nvmlDeviceGetClockInfo). */
  readonly smClockMegahertz: Reading<number>;
  /** nvmlDeviceGetArchitecture: `Ampere`, `Hopper`, …; what has no name here is not-reported. */
  readonly architecture: Reading<string>;
}
