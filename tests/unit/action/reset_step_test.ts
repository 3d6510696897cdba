import assert from "node:assert/strict";
import { test } from "node:test";
import { performStep } from "../../../lib/action/reset_step.ts";
import { pid } from "../../../lib/core/ids.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import { milliseconds } from "../../../lib/core/units.ts";
import type { ResetStep } from "../../../lib/model/reset.ts";
import type { ToolRun } from "../../../lib/model/tool_run.ts";
import { plannedStep } from "../../support/reset_steps.ts";
import { fakeResetTools } from "../../support/reset_world.ts";

const BUS = "00000000:01:00.0";
const RESET = plannedStep("reset", { gpu: 0, command: ["nvidia-smi", "-i", BUS, "-r"] });
const OFF = plannedStep("persistence-off", { gpu: 0, command: ["nvidia-smi", "-i", BUS, "-pm", "0"] });
const ON = plannedStep("persistence-on", {
  gpu: 0,
  command: ["nvidia-smi", "-i", BUS, "-pm", "1"],
  isUndo: true,
});
const CLOCKS = plannedStep("reset-clocks", { gpu: 0, command: ["nvidia-smi", "-i", BUS, "-rgc"] });
const STOP = plannedStep("stop-service", {
  unit: "a b.service",
  command: ["systemctl", "stop", "a b.service"],
});
const START = plannedStep("start-service", {
  unit: "a b.service",
  command: ["systemctl", "start", "a b.service"],
});
const LIMIT = { limit: milliseconds(120_000) };

const KILLED: ToolRun = { kind: "ended", status: undefined, signal: "SIGKILL", text: "" };

function ended(text: string, status = 0): ToolRun {
  return { kind: "ended", status, signal: undefined, text };
}

/** What a step comes to where its program runs so. */
async function perform(step: ResetStep, run: ToolRun) {
  const tools = fakeResetTools({ runSmi: () => run, orderUnit: () => run });
  return { ...await performStep(step, LIMIT, tools), calls: tools.calls };
}

test("performStep() runs nvidia-smi with the words of the step and its limit", async () => {
  const { state, calls } = await perform(RESET, ended(`GPU ${BUS} was successfully reset.\nAll done.\n`));
  assert.deepEqual([state, calls], ["done", [["nvidia-smi", "-i", BUS, "-r", 120_000]]]);
  for (const step of [OFF, ON, CLOCKS]) {
    const set = await perform(step, ended("All done.\n"));
    assert.deepEqual([set.state, set.calls], ["done", [[...step.command ?? [], 120_000]]]);
  }
});

test("performStep() sets clocks back by NVML, and by nvidia-smi only where NVML has no call for it", async () => {
  const step = { ...CLOCKS, clocks: "graphics" } as const;
  const seen = [];
  for (
    const clocks of [
      known(true as const),
      absent("not-supported"),
      absent("no-permission", "nvmlDeviceResetGpuLockedClocks"),
      absent("timed-out"),
    ]
  ) {
    const tools = fakeResetTools({ clocks });
    seen.push([await performStep(step, LIMIT, tools), tools.calls.map(([program]) => program)]);
  }
  assert.deepEqual(seen, [
    [{ state: "done" }, ["nvml"]],
    [{ state: "done" }, ["nvml", "nvidia-smi"]],
    [{ state: "failed", answer: "no permission (nvmlDeviceResetGpuLockedClocks)" }, ["nvml"]],
    [{ state: "timed-out", answer: "no answer in time" }, ["nvml"]],
  ]);
});

test("performStep() claims a reset only for the words of success", async () => {
  assert.deepEqual(await perform(RESET, ended("All done.\n")), {
    state: "failed",
    answer:
      `it ended well and did not say that it reset ${BUS}; look at the GPU: gpuctl snapshot; if it is not well, ` +
      "reboot\nAll done.",
    calls: [["nvidia-smi", "-i", BUS, "-r", 120_000]],
  });
});

test("performStep() orders a unit by its name, whatever is in it", async () => {
  assert.deepEqual((await perform(STOP, ended(""))).calls, [["systemctl", "stop", "a b.service", 90_000]]);
  assert.deepEqual((await perform(START, ended(""))).calls, [["systemctl", "start", "a b.service", 90_000]]);
});

const RUNS:
  readonly (readonly [run: ToolRun, smi: readonly [string, RegExp], unit: readonly [string, string]])[] = [
    [
      { kind: "not-started", message: "it is not installed" },
      ["failed", /^nvidia-smi cannot be run: it is not installed; /],
      ["failed", "systemctl cannot be run: it is not installed"],
    ],
    [{ kind: "too-long" }, ["failed", /wrote more than an answer can be/], [
      "failed",
      "systemctl wrote more than an answer can be",
    ]],
    [{ kind: "timed-out", pid: 7 }, ["timed-out", /gave no answer in time.*\nit is left to itself: PID 7$/], [
      "timed-out",
      "systemctl gave no answer within 1 min 30 s\nit is left to itself: PID 7",
    ]],
    [{ kind: "stuck", pid: 7 }, ["timed-out", /\(PID 7\) waits in the driver/], [
      "timed-out",
      "systemctl gave no answer within 1 min 30 s",
    ]],
    [KILLED, ["failed", /^nvidia-smi was ended by SIGKILL/], [
      "failed",
      "systemctl ended with SIGKILL",
    ]],
    [ended("\u001b[2Jno\n", 1), ["failed", /\n\\u\{1b\}\[2Jno$/], [
      "failed",
      "systemctl ended with status 1: \\u{1b}[2Jno",
    ]],
  ];

for (const [run, [smiState, smiAnswer], [unitState, unitAnswer]] of RUNS) {
  test(`performStep() takes no run that is ${JSON.stringify(run)} for a success`, async () => {
    for (const step of [RESET, OFF, ON, CLOCKS]) {
      const { state, answer = "" } = await perform(step, run);
      assert.equal(state, smiState);
      assert.match(answer, smiAnswer);
    }
    for (const step of [STOP, START]) {
      const { state, answer } = await perform(step, run);
      assert.deepEqual([state, answer], [unitState, unitAnswer]);
    }
  });
}

test("performStep() cuts what systemctl says at length", async () => {
  const { answer = "" } = await perform(STOP, ended("x".repeat(10_000), 1));
  assert.equal(answer.length < 600, true);
});

test("performStep() waits for our own helpers, and names the one that stays", async () => {
  const step = plannedStep("close-helper");
  assert.deepEqual(await performStep(step, LIMIT, fakeResetTools()), { state: "done" });
  assert.deepEqual(await performStep(step, LIMIT, fakeResetTools({ left: () => [pid(77)] })), {
    state: "timed-out",
    answer: "gpuctl's own helper (PID 77) is stuck in the driver and keeps the GPU open",
  });
});

test("performStep() takes no step for done that it cannot do", async () => {
  for (const kind of ["evict", "read-again"] as const) {
    await assert.rejects(
      performStep(plannedStep(kind), LIMIT, fakeResetTools()),
      new TypeError(`Cannot do ${kind}: no program does it`),
    );
  }
});

test("performStep() calls no service started that does not run, nor one of which that is not known", async () => {
  const results = [known(true), known(false), absent("timed-out", "systemctl")].map((isActive) =>
    performStep(START, LIMIT, fakeResetTools({ isActive }))
  );
  assert.deepEqual(await Promise.all(results), [
    { state: "done" },
    { state: "failed", answer: "systemctl started it, and it does not run" },
    { state: "failed", answer: "whether it runs is not known: no answer in time (systemctl)" },
  ]);
});
