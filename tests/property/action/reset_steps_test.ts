import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { carryOutSteps, type StepResult } from "../../../lib/action/reset_steps.ts";
import type { ResetStep, ResetStepKind } from "../../../lib/model/reset.ts";
import { plannedStep } from "../../support/reset_steps.ts";

/** What becomes of one step: its own end, a signal that comes during it, and a record that cannot be written. */
interface Fate {
  readonly result: StepResult["state"] | "throws";
  readonly signal: boolean;
  readonly intent: boolean;
  readonly outcome: boolean;
}

const FATE: fc.Arbitrary<Fate> = fc.record({
  result: fc.oneof(
    { arbitrary: fc.constant("done" as const), weight: 6 },
    { arbitrary: fc.constantFrom("failed", "timed-out", "skipped", "throws"), weight: 1 },
  ),
  signal: fc.oneof({ arbitrary: fc.constant(false), weight: 9 }, { arbitrary: fc.constant(true), weight: 1 }),
  intent: fc.oneof({ arbitrary: fc.constant(true), weight: 9 }, { arbitrary: fc.constant(false), weight: 1 }),
  outcome: fc.oneof({ arbitrary: fc.constant(true), weight: 9 }, { arbitrary: fc.constant(false), weight: 1 }),
});

/** Changes of some GPUs and units, whatever else between them, and then what puts them back. */
const STEPS: fc.Arbitrary<readonly ResetStep[]> = fc.record({
  units: fc.uniqueArray(fc.constantFrom("a.service", "b.service", "c.service")),
  gpus: fc.uniqueArray(fc.integer({ min: 0, max: 3 })),
  between: fc.array(fc.constantFrom<ResetStepKind>("evict", "close-helper", "reset", "reset-clocks"), { maxLength: 4 }),
}).map(({ units, gpus, between }) => [
  ...units.map((unit) => plannedStep("stop-service", { unit })),
  ...gpus.map((gpu) => plannedStep("persistence-off", { gpu })),
  ...between.map((kind) => plannedStep(kind, { gpu: 0 })),
  ...gpus.map((gpu) => plannedStep("persistence-on", { gpu, isUndo: true })),
  ...units.toReversed().map((unit) => plannedStep("start-service", { unit, isUndo: true })),
]);

interface Told {
  readonly event: "intent" | "perform" | "outcome";
  readonly place: number;
}

/** Carries the steps out, each with its fate, and tells what happened in which order. */
async function run(steps: readonly ResetStep[], fates: readonly Fate[]) {
  const told: Told[] = [];
  const placeOf = (step: ResetStep) =>
    steps.findIndex(({ kind, gpu, unit, what }, place) =>
      kind === step.kind && gpu === step.gpu && unit === step.unit && what === step.what && !isOver(place)
    );
  const isOver = (place: number) => told.some((each) => each.event === "outcome" && each.place === place);
  const fateOf = (place: number) => fates[place % fates.length] ?? assert.fail("there is no fate");
  let isInterrupted = false;
  const end = await carryOutSteps(steps, {
    clock: { monotonic: () => 0 as never },
    isInterrupted: () => isInterrupted,
    perform(step) {
      const place = placeOf(step);
      told.push({ event: "perform", place });
      const { result, signal } = fateOf(place);
      isInterrupted ||= signal;
      if (result === "throws") return Promise.reject(new TypeError("bug"));
      return Promise.resolve({ state: result });
    },
    record(event, step) {
      const place = placeOf(step);
      told.push({ event, place });
      if (!fateOf(place)[event]) throw new Error("disk full");
    },
  }).catch((error: unknown) => error);
  return { told, end, fateOf };
}

const UNDOES: Partial<Record<ResetStepKind, ResetStepKind>> = {
  "persistence-on": "persistence-off",
  "start-service": "stop-service",
};

function undoes(undo: ResetStep, step: ResetStep): boolean {
  return UNDOES[undo.kind] === step.kind && undo.gpu === step.gpu && undo.unit === step.unit;
}
