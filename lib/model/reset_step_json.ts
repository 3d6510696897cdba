import type { ResetStep } from "./reset.ts";
import type { ResetStepJson } from "./schema/reset_step.ts";

/** A step of a reset as scripts read it. */
export function encodeResetStep(
  { kind, gpu, unit, what, command, isUndo, state, answer, took }: ResetStep,
): ResetStepJson {
  return {
    kind,
    gpu: gpu ?? null,
    unit: unit ?? null,
    what,
    command: command === undefined ? null : [...command],
    undo: isUndo,
    state,
    answer: answer ?? null,
    tookMs: took === undefined ? null : Math.round(took),
  };
}
