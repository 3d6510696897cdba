/** Persistence mode after a reset: it is on again when the driver says so, not when nvidia-smi does. */
import { absent, formatAbsent, type Reading } from "../core/reading.ts";
import { type Milliseconds, milliseconds } from "../core/units.ts";
import type { Gpu } from "../model/gpu.ts";
import { findSameGpu } from "../model/gpu_identity.ts";
import type { LiveSource } from "../model/source_choice.ts";
import type { ResetTools, World } from "../world/ports.ts";
import type { StepResult } from "./reset_steps.ts";

export interface PersistenceOptions {
  readonly source: LiveSource;
  readonly within: Milliseconds;
  /** How long an earlier program that was left to itself is waited for. */
  readonly patience: Milliseconds;
}

export type PersistenceWorld = Pick<World, "openSampler"> & {
  readonly tools: Pick<ResetTools, "closeHelpers">;
};

/** The most that somebody waits for what was given up already. */
export const LONGEST_PATIENCE = milliseconds(10_000);

/**
 * Switches persistence mode on and reads whether it is.
 *
 * An nvidia-smi that was late and left to itself may still switch it off, or end a reset that takes it away: while one is
 * at work nothing is promised.
 */
export async function restorePersistence(
  gpu: Gpu,
  switchOn: () => Promise<StepResult>,
  { source, within, patience }: PersistenceOptions,
  { openSampler, tools }: PersistenceWorld,
): Promise<StepResult> {
  const late = await tools.closeHelpers(patience);
  const result = await switchOn();
  if (result.state !== "done") return result;
  if (late.length > 0) {
    return {
      state: "failed",
      answer: `it was switched on, and an earlier step is still at work (PID ${
        late.join(", ")
      }): that may undo it`,
    };
  }
  await using sampler = await openSampler(source);
  const report = await sampler.sample({ within, withUtilization: false });
  const mode = report.ok ? modeOf(gpu, report.value.gpus) : report;
  if (!mode.ok) return { state: "failed", answer: `whether it is on is not known: ${formatAbsent(mode)}` };
  if (mode.value) return result;
  return { state: "failed", answer: "nvidia-smi said that it is on, and the driver says that it is off" };
}

function modeOf(gpu: Gpu, now: readonly Gpu[]): Reading<boolean> {
  return findSameGpu(gpu, now)?.persistenceMode ?? absent("not-reported", "the driver lists the GPU no more");
}
