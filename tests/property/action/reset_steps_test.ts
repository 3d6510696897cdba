import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { carryOutSteps, type StepResult } from "../../../lib/action/reset_steps.ts";
import { milliseconds } from "../../../lib/core/units.ts";
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
  outcome: fc.oneof({ arbitrary: fc.constant(true), weight: 9 }, {
    arbitrary: fc.constant(false),
    weight: 1,
  }),
});

/** Changes of some GPUs and units, whatever else between them, and then what puts them back. Each is called by its place. */
const STEPS: fc.Arbitrary<readonly ResetStep[]> = fc.record({
  units: fc.uniqueArray(fc.constantFrom("a.service", "b.service", "c.service")),
  gpus: fc.uniqueArray(fc.integer({ min: 0, max: 3 })),
  between: fc.array(fc.constantFrom<ResetStepKind>("evict", "close-helper", "reset", "reset-clocks"), {
    maxLength: 4,
  }),
}).map(({ units, gpus, between }) =>
  [
    ...units.map((unit) => plannedStep("stop-service", { unit })),
    ...gpus.map((gpu) => plannedStep("persistence-off", { gpu })),
    ...between.map((kind) => plannedStep(kind, { gpu: 0 })),
    ...gpus.map((gpu) => plannedStep("persistence-on", { gpu, isUndo: true })),
    ...units.toReversed().map((unit) => plannedStep("start-service", { unit, isUndo: true })),
  ].map((step, place) => ({ ...step, what: String(place) }))
);

type End = readonly ResetStep[] | { readonly thrown: unknown };

/** What happened in which order, by place. */
interface Course {
  readonly performed: readonly number[];
  /** Steps that were to be recorded before they were done. */
  readonly announced: readonly number[];
  readonly end: End;
}

/** Carries the steps out, each with its fate. */
async function run(steps: readonly ResetStep[], fates: readonly Fate[]): Promise<Course> {
  const performed: number[] = [];
  const announced: number[] = [];
  let isInterrupted = false;
  const fateOf = ({ what }: ResetStep) => fates[Number(what)] ?? assert.fail(`step ${what} has no fate`);
  const ending = carryOutSteps(steps, {
    clock: { monotonic: () => milliseconds(0) },
    isInterrupted: () => isInterrupted,
    perform(step) {
      performed.push(Number(step.what));
      const { result, signal } = fateOf(step);
      isInterrupted ||= signal;
      return result === "throws" ? Promise.reject(new TypeError("bug")) : Promise.resolve({ state: result });
    },
    record(event, step) {
      if (event === "intent") announced.push(Number(step.what));
      if (!fateOf(step)[event]) throw new Error("disk full");
    },
  });
  return { performed, announced, end: await ending.catch((thrown: unknown) => ({ thrown })) };
}

/** Steps, their fates and the course that they take. */
const COURSE = STEPS.chain((steps) =>
  fc.record({
    steps: fc.constant(steps),
    fates: fc.array(FATE, { minLength: steps.length, maxLength: steps.length }),
  })
);

async function check(
  law: (steps: readonly ResetStep[], fates: readonly Fate[], course: Course) => void,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(COURSE, async ({ steps, fates }) => law(steps, fates, await run(steps, fates))),
    { numRuns: 500 },
  );
}

const UNDOES: Partial<Record<ResetStepKind, ResetStepKind>> = {
  "persistence-on": "persistence-off",
  "start-service": "stop-service",
};

/** The place of what a step undoes. */
function undoneBy(undo: ResetStep, steps: readonly ResetStep[]): number {
  return steps.findIndex(({ kind, gpu, unit }) =>
    kind === UNDOES[undo.kind] && gpu === undo.gpu && unit === undo.unit
  );
}

/** Whether a step that was done is a reason to begin nothing more. */
function ends({ isUndo }: ResetStep, { result, signal, outcome }: Fate): boolean {
  return result !== "done" || signal || (!isUndo && !outcome);
}

test("carryOutSteps() does every step at most once, and in order", async () => {
  await check((_steps, _fates, { performed }) => {
    assert.deepEqual(performed, [...new Set(performed)].sort((a, b) => a - b));
  });
});

test("carryOutSteps() undoes exactly what was begun, whatever happens", async () => {
  await check((steps, _fates, { performed }) => {
    for (const [place, step] of steps.entries()) {
      if (step.isUndo) assert.equal(performed.includes(place), performed.includes(undoneBy(step, steps)));
    }
  });
});

test("carryOutSteps() begins nothing after a failure, a signal, or what is not on record", async () => {
  await check((steps, fates, { performed, announced }) => {
    const isEnd = (place: number) => {
      const [step, fate] = [steps[place], fates[place]];
      if (step === undefined || fate === undefined) return false;
      return performed.includes(place) ? ends(step, fate) : announced.includes(place);
    };
    const last = [...steps.keys()].find(isEnd) ?? steps.length;
    assert.deepEqual(
      performed.filter((place) => steps[place]?.isUndo === false && place > last),
      [],
    );
  });
});

test("carryOutSteps() does nothing that could not be recorded before, but for what undoes", async () => {
  await check((steps, fates, { performed, announced }) => {
    for (const place of performed) {
      assert.equal(announced.includes(place), true);
      assert.equal(fates[place]?.intent === true || steps[place]?.isUndo === true, true);
    }
  });
});

test("carryOutSteps() says of each step how it ended, or throws once all is put back", async () => {
  await check((steps, fates, { performed, announced, end }) => {
    if ("thrown" in end) {
      const isBug = performed.some((place) => fates[place]?.result === "throws");
      assert.equal(isBug || performed.length === 0, true);
      return;
    }
    const expected = steps.map(({ isUndo }, place) => {
      if (!performed.includes(place)) return announced.includes(place) ? "failed" : "skipped";
      const isUnrecorded = fates[place]?.outcome === false && !isUndo;
      return fates[place]?.result === "done" && isUnrecorded ? "failed" : fates[place]?.result;
    });
    assert.deepEqual(end.map(({ state }) => state), expected);
  });
});
