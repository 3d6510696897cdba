/** What `gpuctl doctor` finds out: one check after another, in the order in which people go through them by hand. */
import type { Milliseconds } from "../core/units.ts";

/** Every check, in its order: what stands later rests on what stands before. Names are for good: scripts select by them. */
export const CHECK_IDS = [
  "driver.module-loaded",
  "driver.versions-agree",
  "library.loadable",
  "driver.answers",
  "devices.permissions",
  "namespace.pid",
  "persistence",
  "memory.holders-left-behind",
  "memory.ghosts",
  "memory.unattributed",
  "reset.needed",
  "xid.history",
  "compute-mode",
  "mps",
  "mig",
  "fabric-manager",
  "container.toolkit",
  "container.cgroup-devices",
  "environment.visible-devices",
  "framework.torch",
  "framework.tensorflow",
  "framework.jax",
  "framework.cupy",
] as const;
export type CheckId = typeof CHECK_IDS[number];

/**
 * What came of a check:
 *
 * - `ok`: all that it rests on was read, and all is well
 * - `finding`: something is wrong, and the fix says what to do
 * - `unknown`: something that it rests on could not be read
 * - `skipped`: it does not apply here
 */
export const CHECK_STATUSES = ["ok", "finding", "unknown", "skipped"] as const;
export type CheckStatus = typeof CHECK_STATUSES[number];

/** What one check says. */
export interface CheckVerdict {
  readonly status: CheckStatus;
  /** What was seen, one sentence each, the weightiest first. */
  readonly evidence: readonly string[];
  /** The one next thing to do. */
  readonly fix?: string;
}

/** One check that was made. */
export interface Check extends CheckVerdict {
  readonly id: CheckId;
  /** What is so when all is well. */
  readonly title: string;
  /** Why it matters. */
  readonly explanation: string;
  /** From the start of the examination to this verdict: the checks run side by side. */
  readonly took: Milliseconds;
}

/** One examination of a machine. */
export interface Diagnosis {
  readonly takenAt: string;
  readonly simulated: boolean;
  readonly checks: readonly Check[];
}
