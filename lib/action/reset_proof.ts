/** The end of a reset: the GPUs are read again, and what it all came to. */
import { judgeResetResults } from "../analysis/reset_result.ts";
import { GpuctlError } from "../core/errors.ts";
import { absent, type Reading } from "../core/reading.ts";
import { type Milliseconds, milliseconds } from "../core/units.ts";
import type { DriverReport, Gpu } from "../model/gpu.ts";
import type { ResetGpuResult, ResetOutcome, ResetStep } from "../model/reset.ts";
import type { LiveSource } from "../model/source_choice.ts";
import type { LookOptions, World } from "../world/ports.ts";

/** What was meant and what was done. */
export interface ResetDoings {
  /** The GPUs as they were before. */
  readonly gpus: readonly Gpu[];
  readonly planned: readonly ResetStep[];
  /** The steps that change something, as they went. */
  readonly done: readonly ResetStep[];
}

export interface ProofOptions {
  readonly source: LiveSource;
  readonly look: LookOptions;
  /** How long a GPU that was reset has to be whole again. */
  readonly settle: Milliseconds;
  readonly isInterrupted: () => boolean;
}

export interface ResetProof {
  /** All steps, the reading among them. */
  readonly steps: readonly ResetStep[];
  readonly results: readonly ResetGpuResult[];
}

/** Between two looks at a GPU that is not back yet. */
const AGAIN = milliseconds(500);

/** The last step: whether the GPUs are back is read, never taken from what a program said. */
export async function proveReset(
  { gpus, planned, done }: ResetDoings,
  options: ProofOptions,
  world: Pick<World, "clock" | "observe">,
): Promise<ResetProof> {
  const step = planned.find(({ kind }) => kind === "read-again");
  if (step === undefined) return { steps: done, results: [] };
  const resets = done.filter(({ kind }) => kind === "reset");
  if (resets.every(({ state }) => state === "skipped")) {
    return { steps: [...done, { ...step, state: "skipped" }], results: [] };
  }
  const { clock } = world;
  const startedAt = clock.monotonic();
  // A GPU takes a moment to be whole again: its memory to be scrubbed, its fabric to be joined. One that was not reset
  // stays as it is, and whoever has sent a signal does not want to wait.
  const deadline = startedAt + (resets.every(({ state }) => state === "done") ? options.settle : 0);
  for (;;) {
    const results = judgeResetResults(gpus, await lookAgain(options, world));
    const isBack = results.every((each) => each.isBack);
    if (isBack || clock.monotonic() >= deadline || options.isInterrupted()) {
      const took = milliseconds(clock.monotonic() - startedAt);
      return { steps: [...done, { ...step, state: isBack ? "done" : "failed", took }], results };
    }
    await clock.pause(AGAIN);
  }
}

/** A look that cannot be taken is one at which nothing was seen: what was done is still to be told. */
async function lookAgain(
  { source, look }: ProofOptions,
  { observe }: Pick<World, "observe">,
): Promise<Reading<DriverReport>> {
  try {
    return (await observe(source, { ...look, withHealth: true })).report;
  } catch (error) {
    if (error instanceof GpuctlError) return absent("failed", error.message);
    throw error;
  }
}

/**
 * Sums a run up.
 *
 * @param done the steps that change something
 */
export function judgeOutcome(
  done: readonly ResetStep[],
  results: readonly ResetGpuResult[],
  { hasSignal }: { readonly hasSignal: boolean },
): ResetOutcome {
  const hasFailed = done.some(({ state }) => state === "failed" || state === "timed-out");
  const isAllDone = done.every(({ state, isUndo }) => isUndo || state === "done");
  if (!isAllDone) return hasFailed ? "failed" : "interrupted";
  // A signal cut the time short that a GPU has to come back.
  if (results.some(({ isBack }) => !isBack)) return hasSignal ? "interrupted" : "not-back";
  // What could not be put back is a failure too, though the GPU itself is well.
  return hasFailed ? "failed" : "done";
}
