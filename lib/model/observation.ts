import type { DeviceMinor, Pid, Uid } from "../core/ids.ts";
import type { Absent, Reading } from "../core/reading.ts";
import type { ClockTicks } from "../core/units.ts";
import type { DriverReport } from "./gpu.ts";
import type { Process } from "./process.ts";
import type { Host, Problem, SourceName } from "./snapshot.ts";

/** A device node of the driver. `gpu` is /dev/nvidiaN. */
export type DeviceNode =
  | { readonly kind: "gpu"; readonly minor: DeviceMinor }
  | { readonly kind: "control" | "modeset" | "uvm" | "uvm-tools" | "capability" | "nvswitch" | "other" };

/** What one process has of one device node. An open descriptor alone says nothing; a mapping marks a driver client. */
export interface DeviceUse {
  readonly node: DeviceNode;
  readonly descriptors: number;
  /** Absent when the process's mappings could not be read. */
  readonly mappings: Reading<number>;
}

/** How much of /proc was seen. A claim that nobody holds a GPU needs `unreadable` 0 and no `cutShort`. */
export interface ScanCoverage {
  readonly processes: number;
  /** Processes whose descriptors this reader may not list. */
  readonly unreadable: number;
  /** Those of them that this reader answers for: everybody's for root, else its own user's and whoever's cannot be told. */
  readonly ownUnreadable: readonly Pid[];
  readonly cutShort?: Absent;
}

/** Where the reader itself stands. What it cannot see from there is not evidence of absence. */
export interface Reader {
  readonly pid: Pid;
  readonly uid: Uid;
  readonly isRoot: boolean;
  /** Whether it may look into everybody's processes (CAP_SYS_PTRACE); what it cannot read then, nobody can. */
  readonly mayTrace: boolean;
  /** Whether its PID namespace is the machine's first one, in which every process has a pid. */
  readonly isInitialPidNamespace: Reading<boolean>;
  readonly pidNamespace: Reading<string>;
  /** Its own pid and those of the helpers it started. They are left out of every list. */
  readonly ownPids: readonly Pid[];
  /** Its parent, grandparent and so on, and its session leader. They may hold a GPU and are never ended. */
  readonly ancestorPids: readonly Pid[];
}

/** What /proc says of the processes that have to do with a GPU: users of its nodes, listed pids, and their ancestors. */
export interface ProcessScan {
  readonly reader: Reader;
  readonly processes: ReadonlyMap<Pid, Process>;
  readonly uses: ReadonlyMap<Pid, readonly DeviceUse[]>;
  /**
   * For a process with inherited descriptors: the live processes with which it shares an open file description of the
   * driver (kcmp(2), KCMP_FILE). Who shares with the live owner of a context is part of that owner's job.
   */
  readonly sharedWith: ReadonlyMap<Pid, Reading<readonly Pid[]>>;
  /** Live slurmstepd, containerd-shim, conmon and the like; `not-asked` when no holder's owner needs one. */
  readonly supervisors: Reading<readonly Process[]>;
  readonly coverage: ScanCoverage;
}

/** One look at the machine, before anything is concluded from it. */
export interface Observation {
  /** Wall-clock time in ISO 8601, UTC. */
  readonly takenAt: string;
  /** The same moment in clock ticks since boot, which start times count in. */
  readonly ticks: ClockTicks;
  readonly source: SourceName;
  readonly simulated: boolean;
  /** The option that names this machine; absent where none has to. Sentences that name a command repeat it. */
  readonly sourceOption?: string;
  readonly host: Host;
  readonly report: Reading<DriverReport>;
  /** Absent for a file, which knows no processes but those it lists. */
  readonly scan: Reading<ProcessScan>;
  /** What the look itself could not do: a driver that did not answer, a helper that is stuck. */
  readonly problems: readonly Problem[];
}

/**
 * Why the driver gave no answer at a look; `undefined` where it did. The kernel's own list of the GPUs may stand in for
 * its report then, and says nothing of who uses them.
 */
export function findSilence(
  { report, problems }: Pick<Observation, "report" | "problems">,
): Absent | undefined {
  return report.ok ? problems.find(({ subject }) => subject === "driver")?.reason : report;
}
