import assert from "node:assert/strict";
import { test } from "node:test";
import { watchMachine, type WatchOptions } from "../../../lib/action/watch.ts";
import { GpuctlError } from "../../../lib/core/errors.ts";
import { parseBusId } from "../../../lib/core/ids.ts";
import { type Absent, absent, known } from "../../../lib/core/reading.ts";
import { bytes, milliseconds, percent } from "../../../lib/core/units.ts";
import type { XidEvent } from "../../../lib/model/reset_facts.ts";
import type { WatchRules } from "../../../lib/model/watch.ts";
import { heapInUse } from "../../support/garbage.ts";
import type { MachineSpec, ProcessSpec } from "../../support/machine.ts";
import { rememberingSink, type WatchedSpec, watchedWorld, watchOptions } from "../../support/watch_world.ts";

const WORKER: ProcessSpec = { pid: 50, touch: "context", argv: ["python", "train.py"] };
const CHILD: ProcessSpec = { pid: 51, touch: "inherited" };
const IDLE: MachineSpec = { processes: [] };
const AT_WORK: MachineSpec = { processes: [WORKER], gpus: [{ utilization: 90 }] };
const SILENT: Absent = absent("timed-out", "the driver gave no answer within 5 s");

const ERROR_79: XidEvent = {
  busId: parseBusId("0000:00:00"),
  xid: 79,
  microsecondsSinceBoot: known(1),
  pid: absent("not-reported"),
  name: absent("not-reported"),
  text: "GPU has fallen off the bus.",
};

/** What a watch of so many seconds tells, and how it ends. */
async function watch(
  spec: WatchedSpec,
  { seconds, rules = {}, ...options }:
    & { readonly seconds?: number; readonly rules?: Partial<WatchRules> }
    & Partial<Omit<WatchOptions, "rules">>,
) {
  const world = watchedWorld(spec);
  const sink = rememberingSink();
  const usual = watchOptions();
  const end = await watchMachine(
    {
      ...usual,
      rules: { ...usual.rules, ...rules },
      span: seconds === undefined ? undefined : milliseconds(seconds * 1000),
      ...options,
    },
    sink,
    world,
  );
  return { ...sink, world, end };
}

test("watchMachine() asks the driver each second, how busy it is every ten, and looks at everybody every thirty", async () => {
  const { world: { asked, openThings }, views, told, end } = await watch({ machine: () => AT_WORK }, {
    seconds: 40,
  });
  assert.deepEqual(
    [asked.filter((each) => !each.endsWith("sample")), asked.length, told, end, openThings],
    [["0 look", "10 sample+", "20 sample+", "30 look"], 40, [], {
      hasAnswered: true,
      isEndedByAlert: false,
    }, 0],
  );
  assert.deepEqual([views.at(0)?.processesAge, views.at(5)?.processesAge], [40, 5000]);
});

test("watchMachine() looks at everybody when somebody has come or gone, within its budget", async () => {
  const machine = (second: number): MachineSpec => ({
    processes: second < 3 ? [] : second < 6 ? [WORKER] : [WORKER, { ...WORKER, pid: 60 }],
  });
  const quick = await watch({ machine }, { seconds: 10 });
  assert.deepEqual(quick.world.asked.filter((each) => each.endsWith("look")), ["0 look", "3 look", "6 look"]);
  const slow = await watch({ machine, lookMs: 900 }, { seconds: 10 });
  assert.deepEqual(slow.world.asked.filter((each) => each.endsWith("look")), ["0 look"]);
});

test("watchMachine() ends with its count, its time, and a signal", async () => {
  assert.equal((await watch({ machine: () => IDLE }, { count: 3 })).views.length, 3);
  assert.equal((await watch({ machine: () => IDLE }, { seconds: 5 })).views.length, 5);
  const { views, end, world } = await watch({ machine: () => IDLE, stopAt: 7 }, {});
  assert.deepEqual([views.length, end, world.openThings], [
    7,
    { hasAnswered: true, isEndedByAlert: false },
    0,
  ]);
});

test("watchMachine() tells of each thing once and when it is over", async () => {
  const ghost: MachineSpec = { processes: [CHILD], dead: [{ pid: 50, mib: 2566 }] };
  const { told } = await watch(
    { machine: (second) => second < 10 ? AT_WORK : second < 100 ? ghost : IDLE },
    { seconds: 120 },
  );
  assert.deepEqual(told, [
    "70 alert PID 50 is dead and still has 2.5 GiB on GPU 0",
    "100 cleared PID 50 is dead and still has 2.5 GiB on GPU 0",
  ]);
});

test("watchMachine() does not call a ghost gone while the list cannot be read", async () => {
  const ghost: MachineSpec = { processes: [CHILD], dead: [{ pid: 50, mib: 2566 }] };
  const blind: MachineSpec = { processes: [CHILD], gpus: [{ list: "no-permission", usedMib: 2566 }] };
  const { told } = await watch(
    { machine: (second) => second >= 80 && second < 90 ? blind : ghost },
    { seconds: 120 },
  );
  assert.deepEqual(told, ["60 alert PID 50 is dead and still has 2.5 GiB on GPU 0"]);
});

test("watchMachine() does not make up for moments that it has missed, and says when the driver last answered", async () => {
  const { views } = await watch({ machine: () => AT_WORK, lookMs: 3500 }, { seconds: 10 });
  assert.deepEqual(views.map(({ elapsed }) => elapsed), [3500, 4000, 5000, 6000, 7000, 8000, 9000]);
  assert.deepEqual(views.map(({ snapshot }) => snapshot.takenAt), views.map(({ at }) => known(at)));
});

test("watchMachine() tells of memory above a limit, and is content a little below it", async () => {
  const used = (second: number) => second < 5 ? 100_000 : second < 10 ? 140_000 : second < 15 ? 127_000 : 100;
  const { told } = await watch({
    machine: (second) => ({ ...AT_WORK, gpus: [{ usedMib: used(second), utilization: 90 }] }),
  }, { seconds: 20, rules: { memoryAbove: { percent: percent(90) } } });
  assert.deepEqual(told, [
    "5 alert 137 GiB of 140 GiB (97 %) are in use on GPU 0",
    "15 cleared 124 GiB of 140 GiB (88 %) are in use on GPU 0",
  ]);
});

test("watchMachine() tells of memory that no process accounts for once it has stayed", async () => {
  const { told } = await watch({ machine: () => ({ processes: [], gpus: [{ usedMib: 5000 }] }) }, {
    seconds: 310,
  });
  assert.deepEqual(told, ["300 alert 4.9 GiB on GPU 0 are listed with no process"]);
});

test("watchMachine() tells of a latch, and of none while somebody uses the GPU or may be hidden", async () => {
  const latched = { gpus: [{ utilization: 100 }] };
  const alone = await watch({ machine: () => ({ processes: [], ...latched }) }, { seconds: 90 });
  assert.deepEqual(alone.told, ["60 alert GPU 0 says that it is 100 % busy, and no process uses it"]);
  for (
    const machine of [
      { processes: [WORKER], ...latched },
      { processes: [{ ...CHILD, touch: "visible" }], ...latched },
      { processes: [], reader: { isInitial: false }, ...latched },
      { processes: [], gpus: [{ utilization: 100, list: "no-permission" }] },
    ] satisfies MachineSpec[]
  ) {
    assert.deepEqual((await watch({ machine: () => machine }, { seconds: 90 })).told, []);
  }
});

test("watchMachine() tells of who keeps memory and does nothing", async () => {
  const resting = { processes: [WORKER], gpus: [{ utilization: 0 }] };
  const rules = { idleFor: milliseconds(120_000) };
  const { told } = await watch({ machine: () => resting }, { seconds: 200, rules });
  assert.equal(told.length, 1);
  assert.match(
    told[0] ?? "",
    /^1[2-5]\d alert PID 50 \(python train\.py\) keeps 520 MiB on GPU 0 and does nothing$/,
  );
  assert.deepEqual((await watch({ machine: () => AT_WORK }, { seconds: 200, rules })).told, []);
});

test("watchMachine() tells of a GPU that is gone, and of an error that was logged", async () => {
  const two = { processes: [], gpus: [{}, {}] };
  const { told, events } = await watch({
    machine: (second) => second < 5 ? two : { processes: [], gpus: [{}] },
    xids: (second) => second === 3 ? [ERROR_79] : [],
  }, { seconds: 10 });
  assert.deepEqual(told, [
    "3 alert Xid 79 on GPU 0: the GPU has fallen off the bus",
    "5 alert GPU 1 is gone: the driver no longer names it",
  ]);
  assert.deepEqual(events[0]?.alert.evidence, ["the driver says: GPU has fallen off the bus."]);
});

test("watchMachine() says that the kernel's log cannot be read, and goes on", async () => {
  const { views, told } = await watch({ machine: () => IDLE }, { count: 1 });
  assert.deepEqual([views[0]?.remarks.map(({ subject }) => subject), told], [["kernel log"], []]);
});

test("watchMachine() goes on while the driver is silent, asks it less and less, and ends no alert meanwhile", async () => {
  const ghost: MachineSpec = { processes: [CHILD], dead: [{ pid: 50, mib: 2566 }] };
  const { told, world, end, views } = await watch({
    machine: (second) => second >= 100 && second < 200 ? SILENT : ghost,
  }, { seconds: 300 });
  assert.deepEqual([views[99], views[150], views[299]].map((view) => view?.snapshot.source), [
    "nvml",
    "proc",
    "nvml",
  ]);
  assert.deepEqual(told, [
    "60 alert PID 50 is dead and still has 2.5 GiB on GPU 0",
    "100 alert the driver gives no answer: no answer in time (the driver gave no answer within 5 s)",
    told[2],
  ]);
  assert.match(told[2] ?? "", /^2\d\d cleared the driver gives no answer/);
  const asked = world.asked.filter((each) =>
    Number(each.split(" ")[0]) >= 100 && Number(each.split(" ")[0]) < 200
  );
  assert.ok(asked.length < 10, `${asked}`);
  assert.deepEqual(end, { hasAnswered: true, isEndedByAlert: false });
});

test("watchMachine() ends at the first alert if it is to, and knows a driver that never answered", async () => {
  const found = await watch({ machine: () => IDLE, xids: () => [ERROR_79] }, { untilAlert: true });
  assert.deepEqual([found.end, found.views.length], [{ hasAnswered: true, isEndedByAlert: true }, 1]);
  const never = await watch({ machine: () => SILENT }, { untilAlert: true });
  assert.deepEqual(never.end, { hasAnswered: false, isEndedByAlert: false });
  const away = await watch({ machine: (second) => second < 2 ? IDLE : SILENT }, { untilAlert: true });
  assert.deepEqual(away.end, { hasAnswered: true, isEndedByAlert: true });
});

test("watchMachine() watches the GPUs that were chosen at the first answer, and no others", async () => {
  const machine = (second: number): MachineSpec | Absent =>
    second === 0 ? SILENT : { processes: [{ ...WORKER, on: [0, 1] }], gpus: [{ usedMib: 90_000 }, {}] };
  const { views, told } = await watch({ machine }, {
    seconds: 6,
    rules: { memoryAbove: { bytes: bytes(1) } },
    choose: ({ gpus }) => ({ gpus: gpus.slice(1), hasIndex: (index) => index === 1 }),
  });
  assert.deepEqual(views.at(-1)?.snapshot.gpus.map(({ gpu }) => gpu.index), [1]);
  assert.deepEqual(told.map((each) => /GPU \d/.exec(each)?.[0]).filter(Boolean), ["GPU 1"]);
});

test("watchMachine() lets everything go when a GPU that was named is not there", async () => {
  const world = watchedWorld({ machine: () => IDLE });
  const options = watchOptions({
    choose() {
      throw new GpuctlError("unavailable", "Cannot select GPU 7: this machine has GPU 0");
    },
  });
  await assert.rejects(watchMachine(options, rememberingSink(), world), GpuctlError);
  assert.equal(world.openThings, 0);
});

test(
  "watchMachine() needs no more memory after 10,000 moments than after 3,000",
  { timeout: 60_000 },
  async () => {
    const world = watchedWorld({
      machine: (second) => ({
        processes: [WORKER, { ...WORKER, pid: 100 + second % 3000, mib: second % 700 }],
        dead: second % 40 < 20 ? [{ pid: 70 + second % 7, mib: 10 }] : [],
        gpus: [{ utilization: second % 100 }],
      }),
      xids: (second) => [{ ...ERROR_79, xid: second % 150 }],
    });
    let [shown, early] = [0, 0];
    const sink = {
      ...rememberingSink(),
      tell() {},
      show() {
        if (++shown === 3000) early = heapInUse();
      },
    };
    await watchMachine(watchOptions({ count: 10_000 }), sink, world);
    const more = heapInUse() - early;
    assert.ok(more < 2 * 1024 ** 2, `${more} bytes more`);
  },
);
