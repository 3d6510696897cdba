/** Whether a reset would help a GPU, what stands in its way, the steps of one, and what came of them. */
import type { GpuIndex, GpuUuid, Pid } from "../core/ids.ts";
import type { Reading } from "../core/reading.ts";
import type { ClockKind } from "./clock_order.ts";
import type { Bytes, Milliseconds } from "../core/units.ts";
import type { Problem } from "./snapshot.ts";

/**
 * The one thing that helps a GPU, most drastic first:
 *
 * - `reboot`: only a reboot of the machine, or cutting its power
 * - `drain`: let its jobs end, then reset
 * - `reset`: a reset
 * - `end-processes`: no reset; ending the processes named gives the memory back
 * - `none`: nothing is wrong that a reset would mend
 * - `unknown`: what it rests on could not be read
 */
export const RESET_ADVICE = ["reboot", "drain", "reset", "end-processes", "none", "unknown"] as const;
export type ResetAdvice = typeof RESET_ADVICE[number];

/** The verdict on one GPU. */
export interface GpuResetNeed {
  readonly gpu: GpuUuid;
  readonly index: GpuIndex;
  readonly name: Reading<string>;
  readonly advice: ResetAdvice;
  /** What speaks for it, one sentence each, the strongest first. */
  readonly reasons: readonly string[];
  /** For `end-processes`: who is to be ended instead. */
  readonly processes: readonly Pid[];
}

/** What can stand in the way of a reset. */
export const BLOCKER_KINDS = [
  "holder",
  "opener",
  "unseen-processes",
  "service",
  "fabric-manager",
  "persistence-mode",
  "display",
  "console",
  "drm",
  "module",
  "mps",
  "mig",
  "nvlink-peer",
  "imex",
  "vgpu",
  "platform",
  "container",
  "not-root",
  "stuck",
  "needs-reboot",
  "driver",
  "settings",
] as const;
export type BlockerKind = typeof BLOCKER_KINDS[number];

/**
 * Who takes a blocker away: the plan itself (`plan`), a flag of this command, or nobody here (`nobody`), and then nothing
 * is begun. `warning` blocks nothing, and is lost or changed by a reset.
 */
export const BLOCKER_CLEARERS = ["plan", "evict", "stop-services", "nobody", "warning"] as const;
export type BlockerClearer = typeof BLOCKER_CLEARERS[number];

/** One thing that stands in the way. */
export interface Blocker {
  /** Absent for what concerns the whole machine. */
  readonly gpu?: GpuUuid;
  readonly kind: BlockerKind;
  /** By name: `PID 812 (python train.py)`, `nvidia-dcgm.service`, `persistence mode`. */
  readonly who: string;
  readonly pid?: Pid;
  /** The unit to stop, for a blocker that `--stop-services` clears. */
  readonly unit?: string;
  readonly why: string;
  /** What to do about it. A command where there is one. */
  readonly remedy: string;
  readonly clearedBy: BlockerClearer;
}

export const RESET_STEP_KINDS = [
  "evict",
  "stop-service",
  "persistence-off",
  "close-helper",
  "reset",
  "reset-clocks",
  "persistence-on",
  "start-service",
  "read-again",
] as const;
export type ResetStepKind = typeof RESET_STEP_KINDS[number];

/** `skipped`: an earlier step failed, or there was nothing to do. */
export const STEP_STATES = ["planned", "done", "failed", "timed-out", "skipped"] as const;
export type StepState = typeof STEP_STATES[number];

/** One step. Steps that undo others run also after a failure or a signal. */
export interface ResetStep {
  readonly kind: ResetStepKind;
  readonly gpu?: GpuUuid;
  /** The systemd unit that a step stops or starts. */
  readonly unit?: string;
  /** The clocks that a step sets back. */
  readonly clocks?: ClockKind;
  /** In words: `switch persistence mode off on GPU 0`. */
  readonly what: string;
  /** What is run, word by word; absent for what gpuctl does itself. */
  readonly command?: readonly string[];
  readonly isUndo: boolean;
  readonly state: StepState;
  /** What came of it: the refusal explained, or the words of the program, made printable. */
  readonly answer?: string;
  readonly took?: Milliseconds;
}

/**
 * What came of it all:
 *
 * - `plan`: only planned
 * - `blocked`: something stands in the way that nothing here may take away; nothing was begun
 * - `done`: reset, and read again as healthy
 * - `failed`: nvidia-smi refused or failed
 * - `not-back`: nvidia-smi reported success, but the GPU did not come back healthy
 * - `interrupted`: a signal came; what had been changed was put back
 */
export const RESET_OUTCOMES = ["plan", "blocked", "done", "failed", "not-back", "interrupted"] as const;
export type ResetOutcome = typeof RESET_OUTCOMES[number];

/** One GPU before and after. */
export interface ResetGpuResult {
  readonly gpu: GpuUuid;
  readonly index: GpuIndex;
  readonly isBack: boolean;
  readonly usedBefore: Reading<Bytes>;
  readonly usedAfter: Reading<Bytes>;
  /** One sentence for each thing that is not as it should be. */
  readonly faults: readonly string[];
}

/** Everything about one run of the command. */
export interface Reset {
  readonly takenAt: string;
  readonly simulated: boolean;
  readonly needs: readonly GpuResetNeed[];
  readonly blockers: readonly Blocker[];
  readonly steps: readonly ResetStep[];
  /** Empty unless something was done. */
  readonly results: readonly ResetGpuResult[];
  readonly outcome: ResetOutcome;
  readonly problems: readonly Problem[];
}
