/** Carries the steps of a reset out, in order, and puts back what was changed whatever comes between. */
import { messageOf } from "../core/errors.ts";
import { type Milliseconds, milliseconds } from "../core/units.ts";
import type { ResetStep, StepState } from "../model/reset.ts";
import type { Clock } from "../world/ports.ts";

/** What came of one step. */
export interface StepResult {
  readonly state: Exclude<StepState, "planned" | "skipped">;
  readonly answer?: string;
}

export interface StepsWorld {
  readonly clock: Pick<Clock, "monotonic">;
  /** Whether somebody wants us to stop: asked before each step. */
  isInterrupted(): boolean;
  /** Does one step. Never rejects for what the machine does. */
  perform(step: ResetStep): Promise<StepResult>;
  /** Writes down that a step is about to be done, and what came of it. @throws what keeps it from being written */
  record(event: "intent" | "outcome", step: ResetStep): void;
}

/**
 * Does the steps. Once one has failed, or somebody wants us to stop, what is left is skipped, but for what undoes a step
 * that was begun: that is tried in any case. Reading again is left to the caller.
 */
export async function carryOutSteps(steps: readonly ResetStep[], world: StepsWorld): Promise<ResetStep[]> {
  const done: ResetStep[] = [];
  let goesOn = true;
  for (const step of steps) {
    const isDue = step.isUndo ? wasBegun(step, done) : goesOn && !world.isInterrupted();
    if (!isDue) {
      done.push({ ...step, state: "skipped" });
      continue;
    }
    const finished = await carryOutStep(step, world);
    if (finished.state !== "done") goesOn = false;
    done.push(finished);
  }
  return done;
}

async function carryOutStep(step: ResetStep, world: StepsWorld): Promise<ResetStep> {
  try {
    world.record("intent", step);
  } catch (error) {
    // What cannot be recorded is not done; but what was changed is put back even so.
    if (!step.isUndo) return { ...step, state: "failed", answer: messageOf(error) };
  }
  const startedAt = world.clock.monotonic();
  const result = await world.perform(step);
  const finished = { ...step, ...result, took: elapsedSince(startedAt, world) };
  try {
    world.record("outcome", finished);
  } catch (error) {
    return { ...finished, state: "failed", answer: messageOf(error) };
  }
  return finished;
}

function elapsedSince(startedAt: Milliseconds, { clock }: StepsWorld): Milliseconds {
  return milliseconds(Math.max(0, clock.monotonic() - startedAt));
}

/** The kind of step that a step undoes. */
const UNDOES: Partial<Record<ResetStep["kind"], ResetStep["kind"]>> = {
  "persistence-on": "persistence-off",
  "start-service": "stop-service",
};

/** Whether what a step undoes was begun: also one that failed or is late may have changed something. */
function wasBegun(undo: ResetStep, done: readonly ResetStep[]): boolean {
  const kind = UNDOES[undo.kind];
  return done.some((step) =>
    step.kind === kind && step.gpu === undo.gpu && step.unit === undo.unit && step.state !== "skipped"
  );
}
