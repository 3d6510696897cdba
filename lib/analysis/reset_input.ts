/** What a reset is judged and planned from: one look at the machine, and what a person allows. */
import type { BusId, GpuUuid, Pid } from "../core/ids.ts";
import { nameIndexes } from "../core/ranges.ts";
import { quoteArguments, truncate } from "../core/text.ts";
import { type Reading, valueOf } from "../core/reading.ts";
import type { Gpu } from "../model/gpu.ts";
import type { Observation, ProcessScan } from "../model/observation.ts";
import type { ResetFacts } from "../model/reset_facts.ts";
import type { Snapshot } from "../model/snapshot.ts";

/** A process that we ended ourselves: what the driver logs of its end is no fault. */
export interface OwnKill {
  readonly pid: Pid;
  /** About when, in microseconds since boot; without it every event that names the pid counts as ours. */
  readonly microsecondsSinceBoot?: number;
}

export interface ResetFlags {
  /** Holders that were left behind may be ended first. */
  readonly evict: boolean;
  /** Further holders to end, by pid; the rules that spare a process at work hold for them too. */
  readonly named: ReadonlySet<Pid>;
  /** Command lines, users and units that are never touched. */
  readonly protect: readonly string[];
  readonly stopServices: boolean;
  readonly isRoot: boolean;
}

export interface ResetInput {
  readonly observation: Observation;
  /** What `attribute` makes of the same observation. */
  readonly snapshot: Snapshot;
  readonly facts: ResetFacts;
  /** The GPUs to reset, with their health, in the order of the machine. */
  readonly gpus: readonly Gpu[];
  /** Where nvidia-smi lies. */
  readonly smiPath: Reading<string>;
  readonly flags: ResetFlags;
  readonly ownKills: readonly OwnKill[];
  /** GPUs that are known to have been reset since boot, and when: earlier events are history. */
  readonly lastResets?: ReadonlyMap<BusId, number>;
}

/** Every GPU that the driver tells of; none where it did not answer. */
export function machineGpus({ observation: { report } }: ResetInput): readonly Gpu[] {
  return report.ok ? report.value.gpus : [];
}

/** The processes as they were scanned, if they were. */
export function scanOf({ observation: { scan } }: ResetInput): ProcessScan | undefined {
  return valueOf(scan);
}

/** Why it cannot be said that every process was looked at; `undefined` when every one was. */
export function whyScanIncomplete({ observation: { scan } }: ResetInput): string | undefined {
  if (!scan.ok) return "the processes could not be looked at";
  const { coverage, reader } = scan.value;
  if (coverage.cutShort) return "not every process was looked at";
  if (coverage.unreadable > 0) {
    return `the descriptors of ${coverage.unreadable} of ${coverage.processes} processes cannot be listed`;
  }
  return valueOf(reader.isInitialPidNamespace) === true
    ? undefined
    : "processes outside this PID namespace cannot be seen";
}

const COMMAND_WIDTH = 60;

/** Names a process as people call it: `PID 812 (python train.py)`. */
export function nameProcess(pid: Pid, input: ResetInput): string {
  const holder = input.snapshot.holders.find((each) => each.pid === pid);
  const process = scanOf(input)?.processes.get(pid);
  const argv = valueOf(holder?.argv ?? process?.argv ?? NOTHING) ?? [];
  const command = argv.length > 0 ? quoteArguments(argv) : holder?.name ?? process?.comm ?? "";
  return command === "" ? `PID ${pid}` : `PID ${pid} (${truncate(command, COMMAND_WIDTH)})`;
}

const NOTHING: Reading<readonly string[]> = { ok: false, why: "not-reported" };

/** The indexes by which people call some GPUs. */
export function nameGpus(gpus: readonly Gpu[]): string {
  return nameIndexes(gpus.map(({ index }) => index));
}

/** The holders that have a part of this GPU. */
export function holdersOn(gpu: GpuUuid, { snapshot }: ResetInput): Snapshot["holders"] {
  return snapshot.holders.filter(({ devices }) => devices.some((device) => device.gpu === gpu));
}
