/** What a watch looks out for, and what it has to tell. */
import type { GpuIndex, GpuUuid, Pid } from "../core/ids.ts";
import type { Bytes, Milliseconds, Percent } from "../core/units.ts";
import type { Problem, Snapshot } from "./snapshot.ts";

/**
 * What an alert is about:
 *
 * - `driver`: the driver gives no answer
 * - `gpu-lost`: a GPU has fallen off the bus, or the driver has stopped naming it
 * - `recovery`: the driver asks for a reset or more
 * - `xid`: the driver has logged an error
 * - `memory`: more of a GPU's memory is in use than it should be
 * - `growth`: a process takes more and more
 * - `ghost`: memory of a dead process is still held
 * - `unattributed`: memory is in use and listed with no process
 * - `idle`: a process has memory and uses neither processor nor GPU
 * - `busy-without-process`: a GPU says that it is fully busy and nobody uses it
 */
export const ALERT_KINDS = [
  "driver",
  "gpu-lost",
  "recovery",
  "xid",
  "memory",
  "growth",
  "ghost",
  "unattributed",
  "idle",
  "busy-without-process",
] as const;
export type AlertKind = typeof ALERT_KINDS[number];

/** As syslog(3) names them, worst first. */
export const SEVERITIES = ["err", "warning", "notice"] as const;
export type Severity = typeof SEVERITIES[number];

/** The GPU that an alert is about. */
export interface WatchedGpu {
  readonly index: GpuIndex;
  /** Unknown of a GPU that was never readable. */
  readonly uuid: GpuUuid | undefined;
}

/** The process that an alert is about. It may be dead: then it names who allocated. */
export interface WatchedProcess {
  readonly pid: Pid;
  /** Its arguments, quoted for a POSIX shell, or else its short name in brackets; `undefined` where neither is known. */
  readonly command: string | undefined;
}

/** Something that is so at this moment. */
export interface Condition {
  readonly kind: AlertKind;
  /** Tells it from every other one: the same thing, seen again, has the same key. */
  readonly key: string;
  readonly severity: Severity;
  readonly gpu: WatchedGpu | undefined;
  readonly process: WatchedProcess | undefined;
  /** Enough for an alert. Otherwise it only keeps one standing that is there: less than the limit and not yet well. */
  readonly isOver: boolean;
  /** How long it must have been so before anybody is told. */
  readonly after: Milliseconds;
  /** How long it had been so when it was first seen. */
  readonly already: Milliseconds;
  /** What is the matter, in one sentence without its full stop. */
  readonly message: string;
  readonly evidence: readonly string[];
  /** The one next thing to do. */
  readonly advice: string;
}

/** A condition that people are told of. */
export interface Alert extends Condition {
  /** Since when it is known to be so; ISO 8601, UTC. */
  readonly since: string;
}

/** What is told when it happens. */
export type WatchEvent =
  | { readonly event: "alert"; readonly at: string; readonly alert: Alert }
  | {
    readonly event: "cleared";
    readonly at: string;
    readonly alert: Alert;
    /** From its first sight. */
    readonly lasted: Milliseconds;
  };

/** How much of a GPU's memory may be in use. */
export type MemoryLimit = { readonly percent: Percent } | { readonly bytes: Bytes };

/** When a process's memory counts as growing. */
export interface GrowthRule {
  readonly perHour: Bytes;
  /** What the pace is measured over. */
  readonly window: Milliseconds;
  /** A process younger than this takes memory because it starts. */
  readonly warmUp: Milliseconds;
}

/** What to look out for. What is `undefined` is not looked out for. */
export interface WatchRules {
  readonly memoryAbove: MemoryLimit | undefined;
  readonly growth: GrowthRule | undefined;
  readonly ghostFor: Milliseconds | undefined;
  readonly unattributed: { readonly above: Bytes; readonly for: Milliseconds } | undefined;
  readonly idleFor: Milliseconds | undefined;
  readonly busyFor: Milliseconds | undefined;
  readonly hasXids: boolean;
}

/** How things stand after one tick. */
export interface WatchView {
  /** ISO 8601, UTC. */
  readonly at: string;
  /** Since the watch began. */
  readonly elapsed: Milliseconds;
  /** The driver's newest answer joined with the processes as they were last looked at. */
  readonly snapshot: Snapshot;
  /** How long ago every process was looked at. */
  readonly processesAge: Milliseconds;
  /** Those that stand now, the longest first. */
  readonly alerts: readonly Alert[];
  /** What the watch itself cannot do just now. */
  readonly remarks: readonly Problem[];
}
