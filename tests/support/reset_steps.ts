/** Steps of a reset, and a made-up world in which they are carried out. */
import type { StepResult, StepsWorld } from "../../lib/action/reset_steps.ts";
import { GpuctlError } from "../../lib/core/errors.ts";
import { type Milliseconds, milliseconds } from "../../lib/core/units.ts";
import type { ResetStep, ResetStepKind } from "../../lib/model/reset.ts";
import { uuidOf } from "./machine.ts";

/** How carrying out goes. What is left out goes well and takes no time. */
export interface StepsSpec {
  readonly results?: Partial<Record<ResetStepKind, StepResult>>;
  readonly throws?: Partial<Record<ResetStepKind, Error>>;
  /** Milliseconds that a step takes. */
  readonly spans?: Partial<Record<ResetStepKind, number>>;
  /** A signal comes while the nth step is done; 0 for before the first. */
  readonly interruptedAfter?: number;
  /** What the record refuses. */
  readonly unrecorded?: (event: "intent" | "outcome", step: ResetStep) => boolean;
}

export interface FakeStepsWorld extends StepsWorld {
  /** Kinds of the steps that were done, in order. */
  readonly performed: readonly ResetStepKind[];
  /** Records that were written. */
  readonly records: readonly { readonly event: "intent" | "outcome"; readonly step: ResetStep }[];
}

/** Builds the world. */
export function stepsWorld(spec: StepsSpec = {}): FakeStepsWorld {
  const performed: ResetStepKind[] = [];
  const records: FakeStepsWorld["records"][number][] = [];
  let now: Milliseconds = milliseconds(0);
  return {
    performed,
    records,
    clock: { monotonic: () => now },
    isInterrupted: () => spec.interruptedAfter !== undefined && performed.length >= spec.interruptedAfter,
    perform({ kind }) {
      performed.push(kind);
      now = milliseconds(now + (spec.spans?.[kind] ?? 0));
      const error = spec.throws?.[kind];
      return error === undefined
        ? Promise.resolve(spec.results?.[kind] ?? { state: "done" })
        : Promise.reject(error);
    },
    record(event, step) {
      if (spec.unrecorded?.(event, step)) throw new GpuctlError("refused", "Cannot record");
      records.push({ event, step });
    },
  };
}

/** A step that is still to be done. */
export function plannedStep(
  kind: ResetStepKind,
  { gpu, isUndo = false, ...rest }:
    & { readonly gpu?: number; readonly isUndo?: boolean }
    & Pick<Partial<ResetStep>, "unit" | "command"> = {},
): ResetStep {
  return {
    kind,
    ...gpu !== undefined && { gpu: uuidOf(gpu) },
    ...rest,
    what: `do ${kind}`,
    isUndo,
    state: "planned",
  };
}
