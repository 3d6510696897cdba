/** Carries the steps of a reset out, in order, and puts back what was changed whatever comes between. */
import { GpuctlError, messageOf } from "../core/errors.ts";
import { milliseconds } from "../core/units.ts";
import type { ResetStep, ResetStepKind, StepState } from "../model/reset.ts";
import type { Clock } from "../world/ports.ts";

/** What came of one step; `skipped` if somebody wanted us to stop before it had changed anything. */
export interface StepResult {
  readonly state: Exclude<StepState, "planned">;
  readonly answer?: string;
}

export interface StepsWorld {
  readonly clock: Pick<Clock, "monotonic">;
  /** Whether somebody wants us to stop: asked before each step. */
  isInterrupted(): boolean;
  /** Does one step. What it throws fails that step. */
  perform(step: ResetStep): Promise<StepResult>;
  /** Writes down that a step is about to be done, and what came of it. @throws what keeps it from being written */
  record(event: "intent" | "outcome", step: ResetStep): void;
}

/**
 * Does the steps. Once one has failed, or somebody wants us to stop, what is left is skipped, but for what undoes a step
 * that was begun: that is tried in any case. What cannot be recorded is not begun, unless it undoes something.
 *
 * @throws what kept the very first step from being recorded: then nothing was done; or a bug, once all is put back
 */
export async function carryOutSteps(steps: readonly ResetStep[], world: StepsWorld): Promise<ResetStep[]> {
  const done: ResetStep[] = [];
  const begun: ResetStep[] = [];
  const bugs: unknown[] = [];
  let goesOn = true;
  for (const step of steps) {
    const isDue = step.isUndo
      ? begun.some((each) => isUndoneBy(each, step))
      : goesOn && !world.isInterrupted();
    const finished = isDue ? await carryOutStep(step) : { ...step, state: "skipped" as const };
    if (finished.state !== "done") goesOn = false;
    done.push(finished);
  }
  if (bugs.length > 0) throw bugs[0];
  return done;

  async function carryOutStep(step: ResetStep): Promise<ResetStep> {
    const unrecorded = attemptRecord("intent", step, world);
    if (unrecorded !== undefined && !step.isUndo) {
      if (begun.length === 0) throw unrecorded;
      return { ...step, state: "failed", answer: messageOf(unrecorded) };
    }
    begun.push(step);
    const startedAt = world.clock.monotonic();
    const result = await performSafely(step);
    const took = milliseconds(Math.max(0, world.clock.monotonic() - startedAt));
    const finished: ResetStep = { ...step, ...result, took };
    const lost = attemptRecord("outcome", finished, world);
    return lost === undefined ? finished : withoutRecord(finished, lost);
  }

  async function performSafely(step: ResetStep): Promise<StepResult> {
    try {
      return await world.perform(step);
    } catch (error) {
      // Whatever it is, what was changed is put back before anybody hears of it.
      if (!(error instanceof GpuctlError)) bugs.push(error);
      return { state: "failed", answer: messageOf(error) };
    }
  }
}

/** Gives what kept the record from being written, of whatever kind: it is no record either way. */
function attemptRecord(event: "intent" | "outcome", step: ResetStep, world: StepsWorld): unknown {
  try {
    world.record(event, step);
    return undefined;
  } catch (error) {
    return error ?? new Error("the record was not written");
  }
}

/** A change that is not on record is no success; one that was put back is put back all the same. */
function withoutRecord(step: ResetStep, error: unknown): ResetStep {
  const said = step.answer ?? (step.state === "done" ? "it was done" : "it was tried");
  const state = step.state === "done" && !step.isUndo ? "failed" : step.state;
  return { ...step, state, answer: `${said}; and that is not on record: ${messageOf(error)}` };
}

/** The kind of step that a step undoes. */
const UNDOES: Partial<Record<ResetStepKind, ResetStepKind>> = {
  "persistence-on": "persistence-off",
  "start-service": "stop-service",
};

/** Also a step that failed or is late may have changed something. */
function isUndoneBy(step: ResetStep, undo: ResetStep): boolean {
  return step.kind === UNDOES[undo.kind] && step.gpu === undo.gpu && step.unit === undo.unit;
}
