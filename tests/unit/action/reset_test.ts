import assert from "node:assert/strict";
import { test } from "node:test";
import { resetGpus, type ResetOptions } from "../../../lib/action/reset.ts";
import { GpuctlError } from "../../../lib/core/errors.ts";
import { pid } from "../../../lib/core/ids.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import { bytes, milliseconds } from "../../../lib/core/units.ts";
import type { Reset } from "../../../lib/model/reset.ts";
import type { ToolRun } from "../../../lib/model/tool_run.ts";
import type { MachineSpec } from "../../support/machine.ts";
import { service } from "../../support/reset_scene.ts";
import { type FakeResetWorld, resetWorld, type ResetWorldSpec } from "../../support/reset_world.ts";

const BUS = "00000000:00:00.0";
const GIB = 1024 ** 3;
const IDLE: MachineSpec = { gpus: [{ utilization: 0 }], processes: [] };
/** A child that keeps the memory of its dead parent, and a second one that leaves when asked. */
const LEFT_BEHIND: MachineSpec = {
  gpus: [{ utilization: 0 }],
  processes: [{ pid: 700, touch: "inherited", startTicks: 1000 }],
  dead: [{ pid: 600, mib: 2566 }],
};

const OPTIONS: ResetOptions = {
  source: { kind: "nvml" },
  choose: ({ gpus }) => ({ gpus, unreadable: [] }),
  flags: { evict: false, named: new Set(), protect: [], stopServices: false },
  clocks: undefined,
  isPlan: false,
  look: { within: milliseconds(5000), withUtilization: true },
  confirm: milliseconds(3000),
  grace: milliseconds(10_000),
  settle: milliseconds(30_000),
  stepLimit: milliseconds(120_000),
  record: "",
};
const EVICT: ResetOptions["flags"] = { ...OPTIONS.flags, evict: true };

interface Ran {
  readonly world: FakeResetWorld;
  readonly reset: Reset;
}

async function run(spec: Partial<ResetWorldSpec>, options: Partial<ResetOptions> = {}): Promise<Ran> {
  const world = resetWorld({ machine: () => IDLE, ...spec });
  return { world, reset: await resetGpus({ ...OPTIONS, ...options }, world) };
}

function statesOf({ steps }: Reset): string[] {
  return steps.map(({ kind, state }) => `${kind} ${state}`);
}

function answerTo(kind: string, { steps }: Reset): string | undefined {
  return steps.find((step) => step.kind === kind)?.answer;
}

/** Words of nvidia-smi and systemctl without the spans. */
function callsOf({ tools }: FakeResetWorld): string[] {
  return tools.calls.map((words) => words.slice(0, -1).join(" "));
}

const PERSISTENT: Pick<ResetWorldSpec, "isPersistent"> = { isPersistent: true };
const DONE_RUN: ToolRun = { kind: "ended", status: 0, signal: undefined, text: "" };
const WHOLE = [`nvidia-smi -i ${BUS} -pm 0`, `nvidia-smi -i ${BUS} -r`, `nvidia-smi -i ${BUS} -pm 1`];
const DONE = [
  "close-helper done",
  "persistence-off done",
  "reset done",
  "persistence-on done",
  "read-again done",
];

test("resetGpus() only plans when it is told so: nothing runs, nothing is recorded, nothing is locked", async () => {
  const { world, reset } = await run({ ...PERSISTENT, isLocked: true }, { isPlan: true });
  assert.equal(reset.outcome, "plan");
  assert.deepEqual(statesOf(reset), DONE.map((each) => each.replace("done", "planned")));
  assert.deepEqual([world.tools.calls, world.records, world.looks, reset.results], [[], [], 1, []]);
});

test("resetGpus() resets between the changes of persistence mode, and reads the GPU again", async () => {
  const { world, reset } = await run(PERSISTENT);
  assert.deepEqual([reset.outcome, statesOf(reset)], ["done", DONE]);
  assert.deepEqual(callsOf(world), WHOLE);
  assert.deepEqual(reset.results.map(({ index, isBack, faults }) => [index, isBack, faults]), [[
    0,
    true,
    [],
  ]]);
  assert.equal(world.looks, 2);
});

test("resetGpus() records by whom each step is done, when it begins and how it ends", async () => {
  const { world } = await run({});
  assert.deepEqual(
    world.records.map(({ schema, event, by, bootId, simulated, act, step }) => [
      schema,
      event,
      by,
      bootId,
      simulated,
      act,
      step?.kind,
      step?.state,
    ]),
    [["close-helper", "planned"], ["close-helper", "done"], ["reset", "planned"], ["reset", "done"]].map(
      ([kind, state], place) => [
        "gpuctl.audit/1",
        place % 2 === 0 ? "intent" : "outcome",
        { pid: 99_999, uid: 0 },
        "11111111-2222-3333-4444-555555555555",
        false,
        null,
        kind,
        state,
      ],
    ),
  );
});

test("resetGpus() begins nothing while something stands in the way", async () => {
  const holder: MachineSpec = { ...IDLE, processes: [{ pid: 800, touch: "context" }] };
  const { world, reset } = await run({ machine: () => holder });
  assert.deepEqual([reset.outcome, reset.steps, reset.results], ["blocked", [], []]);
  assert.deepEqual([world.tools.calls, world.records, world.looks], [[], [], 1]);
});

test("resetGpus() begins nothing for somebody else than root", async () => {
  const { world, reset } = await run({ machine: () => ({ ...IDLE, reader: { isRoot: false } }) });
  assert.deepEqual([reset.outcome, world.tools.calls], ["blocked", []]);
  assert.equal(reset.blockers.some(({ kind }) => kind === "not-root"), true);
});

test("resetGpus() begins nothing for a lost GPU, and says that only a reboot helps", async () => {
  const { world, reset } = await run({ unreadable: [1] }, {
    choose: ({ unreadableGpus }) => ({ gpus: [], unreadable: unreadableGpus }),
  });
  assert.deepEqual([reset.outcome, world.tools.calls], ["blocked", []]);
  assert.deepEqual(reset.needs.map(({ index, advice }) => [index, advice]), [[1, "reboot"]]);
  assert.deepEqual(reset.blockers.filter(({ who }) => who === "GPU 1"), [{
    kind: "driver",
    who: "GPU 1",
    why: "the driver cannot open it: the GPU has fallen off the bus (GPU is lost)",
    remedy: "reboot; if it stays away, cut the power",
    clearedBy: "nobody",
  }]);
});

test("resetGpus() is unavailable where no GPU can be seen", async () => {
  await assert.rejects(
    run({ machine: () => "no answer" }),
    (error) => error instanceof GpuctlError && error.failure === "unavailable",
  );
});

test("resetGpus() is refused while another run is at work, before it looks", async () => {
  const world = resetWorld({ machine: () => IDLE, isLocked: true });
  await assert.rejects(
    resetGpus(OPTIONS, world),
    new GpuctlError("refused", "Cannot begin: another gpuctl clean-zombies or reset-gpu is at work", {
      hint: "wait until it has ended",
    }),
  );
  assert.deepEqual([world.looks, world.tools.calls], [0, []]);
});

test("resetGpus() does nothing when it cannot record", async () => {
  const world = resetWorld({ machine: () => IDLE, ...PERSISTENT, unrecorded: () => true });
  await assert.rejects(
    resetGpus(OPTIONS, world),
    new GpuctlError("refused", "Cannot record in /var/log: disk full"),
  );
  assert.deepEqual(world.tools.calls, []);
});

test("resetGpus() puts persistence mode back when the record ends in the middle", async () => {
  // Two records a step: the intent of the reset is the fifth.
  const { world, reset } = await run({ ...PERSISTENT, unrecorded: (written) => written >= 4 });
  assert.equal(reset.outcome, "failed");
  assert.deepEqual(callsOf(world), [WHOLE[0], WHOLE[2]]);
});

test("resetGpus() puts persistence mode back when nvidia-smi refuses, and looks once", async () => {
  const refusal = `GPU ${BUS} is currently in use by another process.\n`;
  const { world, reset } = await run({
    ...PERSISTENT,
    runSmi: (words) =>
      words[2] === "-r" ? { kind: "ended", status: 255, signal: undefined, text: refusal } : undefined,
    gpu: () => ({ recoveryAction: known("reset") }),
  });
  assert.deepEqual([reset.outcome, callsOf(world)], ["failed", WHOLE]);
  assert.deepEqual(statesOf(reset).slice(2), ["reset failed", "persistence-on done", "read-again failed"]);
  assert.deepEqual([world.looks, reset.results[0]?.isBack], [2, false]);
});

test("resetGpus() does not take nvidia-smi's word for it", async () => {
  const lies: readonly (readonly [ResetWorldSpec["gpu"], string])[] = [
    [() => ({ recoveryAction: known("reset") }), "the driver still asks for: reset"],
    [
      (_, resets) => resets > 0 ? { memoryUsed: known(bytes(2 * GIB)) } : {},
      "2 GiB are still in use, and no process is listed with them",
    ],
    [
      (_, resets) => resets > 0 ? { memoryUsed: absent("lost") } : {},
      "its memory cannot be read: the GPU has fallen off the bus",
    ],
  ];
  for (const [gpu, fault] of lies) {
    const { world, reset } = await run({ ...gpu && { gpu } });
    assert.equal(reset.outcome, "not-back");
    assert.deepEqual(reset.results.map(({ isBack, faults }) => [isBack, faults]), [[false, [fault]]]);
    // It had all the time that it may have.
    assert.equal(world.clock.monotonic(), OPTIONS.settle);
  }
});

test("resetGpus() says that a GPU is gone which is listed no more", async () => {
  let isGone = false;
  const { reset } = await run({
    observation: ({ report }) => report.ok && isGone ? { report: known({ ...report.value, gpus: [] }) } : {},
    runSmi: (words) => {
      isGone = words[2] === "-r";
      return undefined;
    },
  });
  assert.equal(reset.outcome, "not-back");
  assert.deepEqual(reset.results[0]?.faults, ["it did not come back: the driver lists it no more"]);
});

test("resetGpus() waits for a GPU that takes a while to be well", async () => {
  let isWell = false;
  const { world, reset } = await run({
    runSmi: (words, clock) => {
      if (words[2] === "-r") void clock.pause(milliseconds(4200)).then(() => isWell = true);
      return undefined;
    },
    gpu: () => ({ recoveryAction: known(isWell ? "none" : "reset") }),
  });
  assert.equal(reset.outcome, "done");
  assert.equal(world.clock.monotonic(), 4500);
});

test("resetGpus() is no success when persistence mode could not be put back", async () => {
  const { reset } = await run({
    ...PERSISTENT,
    runSmi: (words) =>
      words[3] === "1"
        ? { kind: "ended", status: 255, signal: undefined, text: "Unknown Error\n" }
        : undefined,
  });
  assert.deepEqual(reset.outcome, "failed");
  assert.deepEqual(statesOf(reset).slice(3), ["persistence-on failed", "read-again done"]);
});

test("resetGpus() undoes what was begun when a signal comes, at whichever step", async () => {
  const at = { pm0: 1000, reset: 11_000, pm1: 21_000 };
  // Each run of nvidia-smi takes ten seconds.
  const slowly: ResetWorldSpec["runSmi"] = async (words, clock) => {
    await clock.pause(milliseconds(10_000));
    const text = words[2] === "-r" ? `GPU ${BUS} was successfully reset.\n` : "All done.\n";
    return { kind: "ended", status: 0, signal: undefined, text };
  };
  const outcomes = await Promise.all(
    Object.values(at).map(async (atMs) => {
      const caught = [{ signal: "SIGTERM", isFromTerminal: false, atMs }] as const;
      const { world, reset } = await run({ ...PERSISTENT, caught, runSmi: slowly });
      return [reset.outcome, callsOf(world)];
    }),
  );
  assert.deepEqual(outcomes, [["interrupted", [WHOLE[0], WHOLE[2]]], ["done", WHOLE], ["done", WHOLE]]);
});

test("resetGpus() does not wait for a GPU to be well after a signal, and does not call it sick", async () => {
  const { world, reset } = await run({
    gpu: () => ({ recoveryAction: known("reset") }),
    caught: [{ signal: "SIGTERM", isFromTerminal: false, atMs: 1200 }],
  });
  assert.equal(reset.outcome, "interrupted");
  assert.equal(world.clock.monotonic(), 1500);
});

test("resetGpus() stops services, starts them again in the other order, and both also after a failure", async () => {
  const services = known([service("gdm.service", "display-manager"), service("dcgm.service", "dcgm", 901)]);
  const machine: MachineSpec = { ...IDLE, processes: [{ pid: 901, touch: "monitor" }] };
  const flags = { ...OPTIONS.flags, stopServices: true };
  let isStopped = false;
  const spec: Partial<ResetWorldSpec> = {
    machine: () => isStopped ? IDLE : machine,
    facts: { services },
    gpu: () => ({ displayActive: known(true) }),
  };
  assert.equal((await run(spec)).reset.outcome, "blocked");
  const stops = ["systemctl stop gdm.service", "systemctl stop dcgm.service"];
  const starts = ["systemctl start dcgm.service", "systemctl start gdm.service"];

  const { world } = await run({
    ...spec,
    orderUnit(order) {
      isStopped = order === "stop";
      return DONE_RUN;
    },
  }, { flags });
  assert.deepEqual(callsOf(world), [...stops, `nvidia-smi -i ${BUS} -r`, ...starts]);

  const failing = await run({
    ...spec,
    orderUnit: (order, unit) => ({
      kind: "ended",
      status: order === "stop" && unit === "dcgm.service" ? 1 : 0,
      signal: undefined,
      text: "",
    }),
  }, { flags });
  assert.deepEqual([failing.reset.outcome, callsOf(failing.world)], ["failed", [...stops, ...starts]]);
});

test("resetGpus() begins no reset while the process of a stopped service still has the GPU open", async () => {
  const machine: MachineSpec = {
    ...IDLE,
    processes: [{ pid: 901, touch: "monitor", comm: "nv-hostengine" }],
  };
  const { world, reset } = await run({
    machine: () => machine,
    facts: { services: known([service("dcgm.service", "dcgm", 901)]) },
  }, { flags: { ...OPTIONS.flags, stopServices: true } });
  assert.deepEqual([reset.outcome, callsOf(world)], [
    "failed",
    ["systemctl stop dcgm.service", "systemctl start dcgm.service"],
  ]);
  assert.equal(answerTo("reset", reset), "it was not begun: PID 901 (nv-hostengine) has GPU 0 open");
});

test("resetGpus() begins no reset when somebody has come since it was planned, and puts back what it changed", async () => {
  const late: MachineSpec = { ...IDLE, processes: [{ pid: 800, touch: "monitor", comm: "python3" }] };
  let isSwitched = false;
  const { world, reset } = await run({
    ...PERSISTENT,
    machine: () => isSwitched ? late : IDLE,
    runSmi: () => {
      isSwitched = true;
      return undefined;
    },
  });
  assert.deepEqual([reset.outcome, callsOf(world)], ["failed", [WHOLE[0], WHOLE[2]]]);
  assert.equal(answerTo("reset", reset), "it was not begun: PID 800 (python3) has GPU 0 open");
});

test("resetGpus() is not stopped by who has another GPU open, or is known not to be in the way", async () => {
  const machine: MachineSpec = {
    gpus: [{ utilization: 0 }, { utilization: 0 }],
    processes: [{ pid: 800, touch: "context", on: [1] }, { pid: 950, touch: "monitor" }],
  };
  const { reset } = await run({
    machine: () => machine,
    facts: { services: known([service("nvidia-fabricmanager.service", "fabric-manager", 950)]) },
  }, { choose: ({ gpus }) => ({ gpus: gpus.slice(0, 1), unreadable: [] }) });
  assert.equal(reset.outcome, "done");
});

test("resetGpus() begins no reset when another process has the pid of one that is not in the way", async () => {
  const withManager = (startTicks: number): MachineSpec => ({
    ...IDLE,
    processes: [{ pid: 950, touch: "monitor", startTicks, comm: "python3" }],
  });
  let isSwitched = false;
  const { reset } = await run({
    ...PERSISTENT,
    machine: () => withManager(isSwitched ? 2000 : 1000),
    facts: { services: known([service("nvidia-fabricmanager.service", "fabric-manager", 950)]) },
    runSmi: () => {
      isSwitched = true;
      return undefined;
    },
  });
  assert.equal(answerTo("reset", reset), "it was not begun: PID 950 (python3) has GPU 0 open");
});

test("resetGpus() does not take nvidia-smi's word for persistence mode either", async () => {
  const { reset } = await run({ ...PERSISTENT, ignoresPersistence: true });
  assert.equal(reset.outcome, "failed");
  assert.deepEqual(statesOf(reset).slice(2), ["reset done", "persistence-on failed", "read-again done"]);
  assert.equal(
    answerTo("persistence-on", reset),
    "nvidia-smi said that it is on, and the driver says that it is off",
  );
});

test("resetGpus() does not call persistence mode put back while a late nvidia-smi may still take it away", async () => {
  let isLate = false;
  const { reset } = await run({
    ...PERSISTENT,
    left: () => isLate ? [pid(77)] : [],
    runSmi: (words) => {
      isLate ||= words[2] === "-r";
      return words[2] === "-r" ? { kind: "timed-out", pid: 77 } : undefined;
    },
  });
  assert.deepEqual(statesOf(reset).slice(2, 4), ["reset timed-out", "persistence-on failed"]);
  assert.equal(
    answerTo("persistence-on", reset),
    "it was switched on, and an earlier step is still at work (PID 77): that may undo it",
  );
});

test("resetGpus() gives up when a helper of its own stays in the driver", async () => {
  const { world, reset } = await run({ ...PERSISTENT, left: () => [pid(77)] });
  assert.deepEqual([reset.outcome, world.tools.calls], ["failed", []]);
  assert.deepEqual(statesOf(reset).slice(0, 2), ["close-helper timed-out", "persistence-off skipped"]);
});

test("resetGpus() resets no GPU when only clocks are to be undone", async () => {
  const { world, reset } = await run(PERSISTENT, {
    clocks: { graphics: true, memory: false, applications: true },
  });
  assert.deepEqual([reset.outcome, reset.results], ["done", []]);
  assert.deepEqual(callsOf(world).filter((call) => !call.startsWith("nvml ")), [
    `nvidia-smi -i ${BUS} -rgc`,
    `nvidia-smi -i ${BUS} -rac`,
  ]);
});

test("resetGpus() ends who was left behind first, after a second look, and then resets", async () => {
  const { world, reset } = await run({
    machine: (_at, signals) => signals.length === 0 ? LEFT_BEHIND : IDLE,
  }, { flags: EVICT });
  assert.deepEqual(world.signals, [{ atMs: 3000, pid: 700, signal: "SIGTERM" }]);
  assert.deepEqual(statesOf(reset), ["evict done", "close-helper done", "reset done", "read-again done"]);
  assert.deepEqual([reset.outcome, reset.steps[0]?.answer], ["done", "1 process ended"]);
  assert.deepEqual(world.records.map(({ event, act, step }) => [event, act?.pid ?? step?.kind]).slice(0, 4), [
    ["intent", "evict"],
    ["intent", 700],
    ["outcome", 700],
    ["outcome", "evict"],
  ]);
});

test("resetGpus() resets when who was left behind has left by himself before the second look", async () => {
  const { world, reset } = await run({ machine: (atMs) => atMs < 2000 ? LEFT_BEHIND : IDLE }, {
    flags: EVICT,
  });
  assert.deepEqual([world.signals, reset.outcome, reset.steps[0]?.answer], [[], "done", "0 processes ended"]);
});

test("resetGpus() resets nothing when the second judgement differs, and ends nobody", async () => {
  const busy: MachineSpec = {
    ...LEFT_BEHIND,
    ticks: 1_000_300,
    processes: [{ pid: 700, touch: "inherited", startTicks: 1000, cpuTicks: 5000 }],
  };
  const { world, reset } = await run({ machine: (atMs) => atMs < 2000 ? LEFT_BEHIND : busy }, {
    flags: EVICT,
  });
  assert.deepEqual([world.signals, world.tools.calls, reset.outcome], [[], [], "failed"]);
  assert.match(reset.steps[0]?.answer ?? "", /^PID 700: /);
});

test("resetGpus() resets nothing when who is in the way does not end", async () => {
  const { world, reset } = await run({ machine: () => LEFT_BEHIND }, { flags: EVICT });
  assert.deepEqual(world.signals.map(({ signal }) => signal), ["SIGTERM", "SIGKILL"]);
  assert.deepEqual([world.tools.calls, reset.outcome, reset.steps[0]?.answer], [
    [],
    "failed",
    "PID 700: survived",
  ]);
});

test("resetGpus() ends nobody after a signal that comes between the two looks", async () => {
  const { world, reset } = await run({
    machine: () => LEFT_BEHIND,
    caught: [{ signal: "SIGINT", isFromTerminal: true, atMs: 1500 }],
  }, { flags: EVICT });
  assert.deepEqual([world.signals, world.tools.calls, reset.outcome], [[], [], "interrupted"]);
  assert.deepEqual(statesOf(reset), [
    "evict skipped",
    "close-helper skipped",
    "reset skipped",
    "read-again skipped",
  ]);
});

test("resetGpus() resets nothing when the second look fails", async () => {
  const { world, reset } = await run({ machine: (atMs) => atMs < 2000 ? LEFT_BEHIND : "no answer" }, {
    flags: EVICT,
  });
  assert.deepEqual([world.signals, world.tools.calls, reset.outcome], [[], [], "failed"]);
  assert.match(reset.steps[0]?.answer ?? "", /^the second look failed: /);
});

test("resetGpus() ends nobody whose end cannot be recorded, and resets nothing", async () => {
  // The first record is that of the step itself.
  const { world, reset } = await run(
    { machine: () => LEFT_BEHIND, unrecorded: (written) => written >= 1 },
    { flags: EVICT },
  );
  assert.deepEqual([world.signals, world.tools.calls, reset.outcome], [[], [], "failed"]);
});
