import assert from "node:assert/strict";
import { test } from "node:test";
import { evictHolders, type EvictionOptions } from "../../../lib/action/evict_holders.ts";
import { type Pid, pid, uid } from "../../../lib/core/ids.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import { milliseconds } from "../../../lib/core/units.ts";
import { jobWorld } from "../../support/job_world.ts";
import { type MachineSpec, timedLook, uuidOf } from "../../support/machine.ts";

/** Two children that keep the memory of their dead parent. */
const LEFT_BEHIND: MachineSpec = {
  processes: [{ pid: 700, touch: "inherited" }, { pid: 701, touch: "inherited" }],
  dead: [{ pid: 600, mib: 2566 }],
};

function evictionOf(machine: MachineSpec, expected: readonly number[]): EvictionOptions {
  return {
    source: { kind: "nvml" },
    look: { within: milliseconds(5000), withUtilization: false },
    confirm: milliseconds(3000),
    grace: milliseconds(1000),
    settle: milliseconds(1000),
    scope: { gpus: new Set([uuidOf(0)]), named: new Set<Pid>(), protect: [] },
    expected: expected.map(pid),
    first: timedLook(machine),
    audit: { by: known({ pid: pid(99_999), uid: uid(0) }), bootId: known("boot"), simulated: false },
    isInterrupted: () => false,
  };
}

test("evictHolders() is done with a process that has left before it was signalled", async () => {
  const world = jobWorld({ machine: () => LEFT_BEHIND });
  const processes = { openProcess: () => undefined, findProcess: () => undefined };
  assert.deepEqual(await evictHolders(evictionOf(LEFT_BEHIND, [700, 701]), { ...world, processes }), {
    state: "done",
    answer: "0 processes ended",
  });
});

test("evictHolders() names each that is still in the way, and why", async () => {
  const hard: MachineSpec = { ...LEFT_BEHIND, processes: [{ pid: 700, touch: "inherited", state: "D" }] };
  const world = jobWorld({ machine: (atMs) => atMs < 3000 ? LEFT_BEHIND : hard });
  const { state, answer } = await evictHolders(evictionOf(LEFT_BEHIND, [700, 701]), world);
  assert.deepEqual([state, answer, world.signals], [
    "failed",
    "PID 700: is in state D: no signal reaches it",
    [],
  ]);
});

test("evictHolders() ends nobody who has none of the GPUs, and does not miss him", async () => {
  const elsewhere: MachineSpec = {
    gpus: [{}, {}],
    processes: [{ pid: 700, touch: "inherited", on: [1] }],
    dead: [{ pid: 600, mib: 2566, on: [1] }],
  };
  const world = jobWorld({ machine: () => elsewhere });
  assert.deepEqual(await evictHolders(evictionOf(elsewhere, []), world), {
    state: "done",
    answer: "0 processes ended",
  });
  assert.deepEqual(world.signals, []);
});

test("evictHolders() leaves alone whom the plan did not name", async () => {
  const world = jobWorld({ machine: () => LEFT_BEHIND });
  await evictHolders(evictionOf(LEFT_BEHIND, [700]), world);
  assert.deepEqual(new Set(world.signals.map((signal) => signal.pid)), new Set([700]));
});

test("evictHolders() ends nobody when only the kernel answers at the second look", async () => {
  const world = jobWorld({ machine: () => LEFT_BEHIND });
  const reason = absent("timed-out", "no answer within 5 s");
  const silent: typeof world.observe = async (source, look) => ({
    ...await world.observe(source, look),
    problems: [{ subject: "driver", reason, message: "The driver gave no answer" }],
  });
  const { state, answer } = await evictHolders(evictionOf(LEFT_BEHIND, [700]), { ...world, observe: silent });
  assert.deepEqual([state, answer?.startsWith("the second look failed: "), world.signals], [
    "failed",
    true,
    [],
  ]);
});
