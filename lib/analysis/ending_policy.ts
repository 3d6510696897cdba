/** What may be ended, and what narrows it. */
import type { GpuUuid, Pid } from "../core/ids.ts";
import type { Bytes, Milliseconds } from "../core/units.ts";
import type { HolderClass } from "../model/snapshot.ts";

/** Classes that are ended unless told otherwise. */
export const DEFAULT_CLASSES = ["orphan", "inherited", "zombie-leader", "job-leftover"] as const;
/** Classes that a person may ask for by name on top of those. */
export const WIDENING_CLASSES = ["detached", "stopped"] as const;

/** What may be ended and what narrows it. Absent parts do not narrow. */
export interface EndingPolicy {
  readonly classes: ReadonlySet<HolderClass>;
  readonly gpus?: ReadonlySet<GpuUuid>;
  readonly users?: ReadonlySet<string>;
  /** Named by a person: needs no minimum age, and may be busy. */
  readonly pids?: ReadonlySet<Pid>;
  /** A container's whole id or name, or at least the first twelve digits of its id. */
  readonly container?: string;
  readonly slurmJob?: string;
  readonly unit?: string;
  readonly cgroup?: string;
  readonly minAge: Milliseconds;
  readonly minBytes: Bytes;
  /** Only holders that have been idle for so long; `spans` is how long each has been. */
  readonly idle?: { readonly for: Milliseconds; readonly spans: ReadonlyMap<Pid, Milliseconds> };
  /** Command lines, users and units that are never touched. */
  readonly protect: readonly string[];
}
