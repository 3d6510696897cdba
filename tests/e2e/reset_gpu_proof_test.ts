/** What `gpuctl reset-gpu` says of a reset that did not do what it should: nobody's word is taken for it. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { NEEDS_ROOT } from "../support/as_nobody.ts";
import type { ScenarioGpu } from "../support/nvml_stub.ts";
import {
  answerTo,
  callsOf,
  openResetMachines,
  readReset,
  readStepRecords,
  statesOf,
} from "../support/resetting.ts";
import { until } from "../support/until.ts";

const machines = openResetMachines();
after(() => machines[Symbol.dispose]());
const BUS = "00000000:10:00.0";
const GIBIBYTE = 1024 ** 3;
/** NVML_FI_DEV_GET_GPU_RECOVERY_ACTION: reset. */
const NEEDS_RESET: ScenarioGpu["fields"] = [{ id: 230, value: 1 }];
const SUCCESS = `GPU ${BUS} was successfully reset.\nAll done.\n`;
const DONE = [
  "close-helper done",
  "persistence-off done",
  "reset done",
  "persistence-on done",
  "read-again done",
];

test("gpuctl reset-gpu is no success when the driver still asks for a reset", NEEDS_ROOT, async () => {
  using machine = machines.make({
    scenario: { gpus: [{ fields: NEEDS_RESET }] },
    answers: { r: { out: SUCCESS } },
  });
  const reset = readReset(await machine.run(["0", "--yes", "--json", "--settle", "300ms"]), 6);
  assert.deepEqual([reset.outcome, reset.gpus[0]?.back], ["not-back", false]);
  assert.deepEqual(reset.gpus[0]?.faults, ["the driver still asks for: reset"]);
  assert.deepEqual(statesOf(reset), [...DONE.slice(0, 4), "read-again failed"]);
  assert.deepEqual(machine.persistence(), ["1"]);
});

test("gpuctl reset-gpu is no success when memory is still held", NEEDS_ROOT, async () => {
  using machine = machines.make({
    scenario: { gpus: [{ usedBytes: GIBIBYTE }] },
    answers: { r: { out: SUCCESS } },
  });
  const reset = readReset(await machine.run(["0", "--yes", "--json", "--settle", "300ms"]), 6);
  assert.deepEqual([reset.outcome, reset.gpus[0]?.memoryUsedAfterBytes], ["not-back", GIBIBYTE]);
});

test("gpuctl reset-gpu is no success when the GPU is gone", NEEDS_ROOT, async () => {
  using machine = machines.make({
    scenario: { gpus: [{}, {}] },
    answers: {
      r: {
        out: SUCCESS,
        before:
          `awk '$0 == "gpu" { count++ } count != 1' "$SCENARIO" > "$SCENARIO.new" && mv "$SCENARIO.new" "$SCENARIO"`,
      },
    },
  });
  const reset = readReset(await machine.run(["0", "--yes", "--json", "--settle", "300ms"]), 6);
  assert.deepEqual(reset.outcome, "not-back");
  assert.deepEqual(reset.gpus[0]?.faults, ["it did not come back: the driver lists it no more"]);
});

test("gpuctl reset-gpu waits for a GPU that takes a moment to be well", NEEDS_ROOT, async () => {
  const slowly = "{ ( wait_for well; change 'field 230' '0 0' ) </dev/null >/dev/null 2>&1 & }";
  using machine = machines.make({
    scenario: { gpus: [{ fields: NEEDS_RESET }] },
    answers: { r: { out: SUCCESS, before: slowly } },
  });
  await using program = machine.start(["0", "--yes", "--json"]);
  await machine.smi.untilEnded("pm1");
  machine.release("well");
  assert.equal(readReset(await program.ended, 0).outcome, "done");
});

test(
  "gpuctl reset-gpu leaves a reset alone that takes too long, and promises nothing that it may undo",
  NEEDS_ROOT,
  async () => {
    using machine = machines.make({ answers: { r: { before: "wait_for end", out: SUCCESS } } });
    const reset = readReset(await machine.run(["0", "--yes", "--json", "--step-limit", "400ms"]), 6);
    assert.equal(reset.outcome, "failed");
    assert.deepEqual(statesOf(reset).slice(0, 4), [
      ...DONE.slice(0, 2),
      "reset timed-out",
      "persistence-on failed",
    ]);
    assert.deepEqual(machine.persistence(), ["1"]);
    const { pid, status } = await machine.smi.untilBegun("r");
    assert.equal(status, undefined);
    assert.equal(
      answerTo("persistence-on", reset),
      `it was switched on, and an earlier step is still at work (PID ${pid}): that may undo it`,
    );

    machine.release("end");
    const call = await machine.smi.untilEnded("r");
    assert.deepEqual([call.status, call.signals], [0, []]);
  },
);

test(
  "gpuctl reset-gpu does not say that persistence mode is on again when the driver says that it is off",
  NEEDS_ROOT,
  async () => {
    using machine = machines.make({ answers: { pm1: { out: "All done.\n" } } });
    const reset = readReset(await machine.run(["0", "--yes", "--json"]), 6);
    assert.deepEqual([reset.outcome, machine.persistence()], ["failed", ["0"]]);
    assert.deepEqual(statesOf(reset), [...DONE.slice(0, 3), "persistence-on failed", "read-again done"]);
  },
);

test(
  "gpuctl reset-gpu waits for a late nvidia-smi that switches persistence mode off, before it switches it on",
  NEEDS_ROOT,
  async () => {
    using machine = machines.make({
      answers: { pm0: { before: "wait_for go", out: "All done.\n", takesEffect: true } },
    });
    await using program = machine.start(["0", "--yes", "--json", "--step-limit", "2s"]);
    await until(
      "the step to be given up",
      () => readStepRecords(machine.auditLog).includes("intent persistence-on planned"),
    );
    machine.release("go");
    const reset = readReset(await program.ended, 6);
    assert.deepEqual(statesOf(reset).slice(1, 4), [
      "persistence-off timed-out",
      "reset skipped",
      "persistence-on done",
    ]);
    assert.deepEqual([callsOf(machine), machine.persistence()], [[`pm0 ${BUS} 0`, `pm1 ${BUS} 0`], ["1"]]);
  },
);

test("gpuctl reset-gpu does not call a service started that does not run", NEEDS_ROOT, async () => {
  using machine = machines.make({
    scenario: { gpus: [{ display: 1 }] },
    services: ["gdm.service"],
    before: { "start gdm.service": "exit 0" },
  });
  const reset = readReset(await machine.run(["0", "--yes", "--json", "--stop-services"]), 6);
  assert.deepEqual([reset.outcome, answerTo("start-service", reset)], [
    "failed",
    "systemctl started it, and it does not run",
  ]);
});

test("gpuctl reset-gpu says what it could not put back", NEEDS_ROOT, async () => {
  using machine = machines.make({
    answers: { pm1: { out: `Unable to set persistence mode for GPU ${BUS}: Unknown Error\n` } },
  });
  const { status, stdout } = await machine.run(["0", "--yes"]);
  assert.equal(status, 6);
  assert.match(stdout, /^NOT PUT BACK, do it by hand: switch persistence mode of GPU 0 on again\.$/m);
});
