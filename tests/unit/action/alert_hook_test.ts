import assert from "node:assert/strict";
import { test } from "node:test";
import { AlertHook, variablesOf } from "../../../lib/action/alert_hook.ts";
import { milliseconds } from "../../../lib/core/units.ts";
import { formatAbsent } from "../../../lib/core/reading.ts";
import type { ShellEnd, ShellOptions, ShellRun } from "../../../lib/world/ports.ts";
import { DRIVER_ALERT, GHOST_ALERT, HOSTILE_ALERT, HOSTILE_NAME } from "../../support/watch_views.ts";

const AT = "2026-11-30T12:10:00.000Z";

/** A shell whose runs end when they are told to. */
function shell() {
  const runs: { readonly line: string; readonly options: ShellOptions; end(run: ShellRun): void }[] = [];
  let ring: (() => void) | undefined;
  return {
    runs,
    /** Lets the time be over that a run may take. */
    ring: () => ring?.(),
    clock: {
      now: () => AT,
      monotonic: () => milliseconds(0),
      pause: () => new Promise<void>((resolve) => ring = resolve),
    },
    runShell(line: string, options: ShellOptions): Promise<ShellRun> {
      const { promise, resolve } = Promise.withResolvers<ShellRun>();
      runs.push({ line, options, end: resolve });
      return promise;
    },
  };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));
const FINE: ShellRun = { end: { kind: "exited", status: 0 }, output: "" };

test("variablesOf() hands over facts, with nothing in them that a terminal obeys or a line ends at", () => {
  const { GPUCTL_ALERT_JSON: json, ...facts } = variablesOf({ alert: HOSTILE_ALERT, at: AT });
  assert.deepEqual(facts, {
    GPUCTL_ALERT_KIND: "growth",
    GPUCTL_ALERT_SEVERITY: "warning",
    GPUCTL_ALERT_SINCE: "2026-11-30T12:05:00.000Z",
    GPUCTL_ALERT_MESSAGE:
      "PID 666 (\\u{1b}[2J'; $(touch /tmp/owned)\\u{a}<0>) takes 3.5 GiB more an hour on GPU 0",
    GPUCTL_ALERT_EVIDENCE: "",
    GPUCTL_ALERT_ADVICE: "look",
    GPUCTL_ALERT_GPU: "0",
    GPUCTL_ALERT_GPU_UUID: "GPU-00000000-0000-4000-8000-000000000000",
    GPUCTL_ALERT_PID: "666",
    GPUCTL_ALERT_COMMAND: "\\u{1b}[2J'; $(touch /tmp/owned)\\u{a}<0>",
  });
  assert.equal(JSON.parse(json ?? "").process.command, HOSTILE_NAME);
  const { GPUCTL_ALERT_GPU: gpu, GPUCTL_ALERT_PID: pid } = variablesOf({ alert: DRIVER_ALERT, at: AT });
  assert.deepEqual([gpu, pid], ["", ""]);
});

test("AlertHook runs the line as it was typed, one run after another", async () => {
  const world = shell();
  const hook = new AlertHook("notify 'me'", world);
  hook.push({ alert: GHOST_ALERT, at: AT });
  hook.push({ alert: DRIVER_ALERT, at: AT });
  await turn();
  assert.deepEqual(world.runs.map(({ line, options }) => [line, options.span]), [["notify 'me'", 30_000]]);
  world.runs[0]?.end(FINE);
  await turn();
  assert.deepEqual(world.runs.map(({ options }) => options.variables["GPUCTL_ALERT_KIND"]), [
    "ghost",
    "driver",
  ]);
  world.runs[1]?.end(FINE);
  await hook.finish();
  assert.deepEqual(hook.problems, []);
});

test("AlertHook says how a run failed, until one goes well", async () => {
  const ends: readonly [ShellEnd, string][] = [
    [{ kind: "exited", status: 3 }, "the call failed (it ended with status 3: \\u{1b}[31mno)"],
    [{ kind: "killed", signal: "SIGSEGV" }, "the call failed (it was ended by SIGSEGV: \\u{1b}[31mno)"],
    [{ kind: "timed-out" }, "no answer in time (it did not end within 30 s: \\u{1b}[31mno)"],
    [{ kind: "not-started", message: "E2BIG" }, "the call failed (it cannot be started: E2BIG)"],
  ];
  const world = shell();
  const hook = new AlertHook("x", world);
  for (const [end, words] of ends) {
    hook.push({ alert: GHOST_ALERT, at: AT });
    await turn();
    world.runs.at(-1)?.end({ end, output: "first\n\x1b[31mno\n" });
    await hook.finish();
    const [problem] = hook.problems;
    assert.deepEqual([hook.problems.length, problem && formatAbsent(problem.reason)], [1, words]);
  }
  hook.push({ alert: GHOST_ALERT, at: AT });
  world.runs.at(-1)?.end(FINE);
  await hook.finish();
  assert.deepEqual(hook.problems, []);
});

test("AlertHook lets no more than so many alerts wait, and says so", async () => {
  const world = shell();
  const hook = new AlertHook("x", world);
  for (let count = 0; count < 60; count++) hook.push({ alert: GHOST_ALERT, at: AT });
  assert.deepEqual(hook.problems.map(({ reason }) => reason.detail), [
    "9 alerts were left out: it cannot keep up",
  ]);
  for (let count = 0; count < 51; count++) {
    await turn();
    world.runs[count]?.end(FINE);
  }
  await hook.finish();
  assert.equal(world.runs.length, 51);
});

test("AlertHook waits at its end for what it has to run, and no longer than one run may take", async () => {
  const world = shell();
  const hook = new AlertHook("x", world);
  for (let count = 0; count < 3; count++) hook.push({ alert: GHOST_ALERT, at: AT });
  const finished = hook.finish();
  world.runs[0]?.end(FINE);
  await turn();
  world.ring();
  await turn();
  world.runs[1]?.end(FINE);
  await finished;
  assert.equal(world.runs.length, 2);
});
