import assert from "node:assert/strict";
import { test } from "node:test";
import { carryOutSteps } from "../../../lib/action/reset_steps.ts";
import { GpuctlError } from "../../../lib/core/errors.ts";
import { plannedStep, type StepsSpec, stepsWorld } from "../../support/reset_steps.ts";

const STOP = plannedStep("stop-service", { unit: "gdm.service" });
const OFF = plannedStep("persistence-off", { gpu: 0 });
const RESET = plannedStep("reset", { gpu: 0 });
const ON = plannedStep("persistence-on", { gpu: 0, isUndo: true });
const START = plannedStep("start-service", { unit: "gdm.service", isUndo: true });
const STEPS = [STOP, OFF, RESET, ON, START];

/** What was done, in order, and how each step ended. */
async function run(spec: StepsSpec, steps = STEPS) {
  const world = stepsWorld(spec);
  const done = await carryOutSteps(steps, world);
  return { performed: world.performed, states: done.map(({ state }) => state), done };
}

test("carryOutSteps() does each step once, in order, and says how long it took", async () => {
  const { performed, done } = await run({ spans: { reset: 4000 } });
  assert.deepEqual(performed, [
    "stop-service",
    "persistence-off",
    "reset",
    "persistence-on",
    "start-service",
  ]);
  assert.deepEqual(done, STEPS.map((step) => ({ ...step, state: "done", took: step === RESET ? 4000 : 0 })));
});

test("carryOutSteps() skips what is left once a step failed or is late, and undoes what was begun", async () => {
  for (const state of ["failed", "timed-out"] as const) {
    assert.deepEqual(
      (await run({ results: { "persistence-off": { state, answer: "no" } } })).states,
      ["done", state, "skipped", "done", "done"],
    );
    assert.deepEqual(
      (await run({ results: { "stop-service": { state } } })).states,
      [state, "skipped", "skipped", "skipped", "done"],
    );
  }
});

test("carryOutSteps() goes on putting back when one thing cannot be put back", async () => {
  const { states } = await run({
    results: { "persistence-on": { state: "failed", answer: "the GPU is gone" } },
  });
  assert.deepEqual(states, ["done", "done", "done", "failed", "done"]);
});

test("carryOutSteps() begins nothing after a signal, and undoes what was begun", async () => {
  assert.deepEqual((await run({ interruptedAfter: 0 })).performed, []);
  assert.deepEqual((await run({ interruptedAfter: 1 })).states, [
    "done",
    "skipped",
    "skipped",
    "skipped",
    "done",
  ]);
  assert.deepEqual((await run({ interruptedAfter: 2 })).states, ["done", "done", "skipped", "done", "done"]);
});

test("carryOutSteps() begins nothing after a step that was given up for a signal", async () => {
  const { states, performed } = await run({ results: { "stop-service": { state: "skipped" } } });
  assert.deepEqual(states, ["skipped", "skipped", "skipped", "skipped", "done"]);
  assert.deepEqual(performed, ["stop-service", "start-service"]);
});

test("carryOutSteps() undoes only what is of the same GPU and the same unit", async () => {
  const other = plannedStep("persistence-on", { gpu: 1, isUndo: true });
  const { performed } = await run({}, [OFF, other, ON]);
  assert.deepEqual(performed, ["persistence-off", "persistence-on"]);
});

test("carryOutSteps() throws what keeps the first step from being recorded, and does nothing", async () => {
  const world = stepsWorld({ unrecorded: (event) => event === "intent" });
  await assert.rejects(carryOutSteps(STEPS, world), new GpuctlError("refused", "Cannot record"));
  assert.deepEqual(world.performed, []);
});

test("carryOutSteps() does not do a later step that cannot be recorded, and still undoes", async () => {
  const { states, performed, done } = await run({
    unrecorded: (event, { kind }) =>
      event === "intent" && kind !== "stop-service" && kind !== "persistence-off",
  });
  assert.deepEqual(states, ["done", "done", "failed", "done", "done"]);
  assert.deepEqual(performed, ["stop-service", "persistence-off", "persistence-on", "start-service"]);
  assert.equal(done[2]?.answer, "Cannot record");
});

test("carryOutSteps() does not undo a step that was not begun because it could not be recorded", async () => {
  const { performed } = await run({
    unrecorded: (event, { kind }) => event === "intent" && kind === "persistence-off",
  });
  assert.deepEqual(performed, ["stop-service", "start-service"]);
});

test("carryOutSteps() stops after a step of which the end is not on record, and says that it was done", async () => {
  const { done } = await run({
    unrecorded: (event, { kind }) => event === "outcome" && kind === "persistence-off",
  });
  assert.deepEqual(done.map(({ state, answer }) => [state, answer]), [
    ["done", undefined],
    ["failed", "it was done; and that is not on record: Cannot record"],
    ["skipped", undefined],
    ["done", undefined],
    ["done", undefined],
  ]);
});

test("carryOutSteps() does not call undone what was put back and is merely not on record", async () => {
  const { done } = await run({
    unrecorded: (event, { kind }) => event === "outcome" && kind === "persistence-on",
  });
  assert.deepEqual(
    [done[3]?.state, done[3]?.answer],
    ["done", "it was done; and that is not on record: Cannot record"],
  );
});

test("carryOutSteps() fails a step that throws what was foreseen, and undoes", async () => {
  const { states, done } = await run({ throws: { reset: new GpuctlError("refused", "Cannot go on") } });
  assert.deepEqual([states, done[2]?.answer], [["done", "done", "failed", "done", "done"], "Cannot go on"]);
});

test("carryOutSteps() undoes before it lets a bug out", async () => {
  const world = stepsWorld({ throws: { reset: new TypeError("bug") } });
  await assert.rejects(carryOutSteps(STEPS, world), new TypeError("bug"));
  assert.deepEqual(world.performed.slice(-2), ["persistence-on", "start-service"]);
});
