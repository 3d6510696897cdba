import assert from "node:assert/strict";
import { test } from "node:test";
import { findEvictable, planEviction } from "../../../lib/analysis/reset_eviction.ts";
import { type Pid, pid } from "../../../lib/core/ids.ts";
import { absent } from "../../../lib/core/reading.ts";
import { type MachineSpec, timedLook, uuidOf } from "../../support/machine.ts";
import { resetInput } from "../../support/reset_scene.ts";

const GONE = { cgroup: "/gone", isCgroupDeleted: true };

/** Left behind on GPU 0, on GPU 1, on both; one suspended, one at work, one whose command line is protected. */
const MACHINE: MachineSpec = {
  gpus: [{}, {}],
  processes: [
    { pid: 10, touch: "context", owner: GONE },
    { pid: 11, touch: "context", on: [1], owner: GONE },
    { pid: 12, touch: "context", on: [1], opens: [0], owner: GONE },
    { pid: 13, touch: "context", state: "T" },
    { pid: 14, touch: "context", parent: 500 },
    { pid: 15, touch: "context", owner: GONE, argv: ["python", "keep.py"] },
    { pid: 16, touch: "context", on: [1], parent: 500 },
    { pid: 500, program: "/usr/bin/bash" },
  ],
};

function evicted(machine: MachineSpec, named: readonly number[], later = machine): Pid[] {
  const scope = { gpus: new Set([uuidOf(0)]), named: new Set(named.map(pid)), protect: ["keep.py"] };
  return planEviction(timedLook(machine), timedLook(later), scope).acts.map(({ identity }) => identity.pid);
}

test("planEviction() ends what a cleaning would, of those that have a chosen GPU, and who is suspended once named", () => {
  assert.deepEqual(evicted(MACHINE, []), [10, 12]);
  assert.deepEqual(evicted(MACHINE, [13]), [10, 12, 13]);
});

test("planEviction() ends nobody at work or protected, named or not", () => {
  assert.deepEqual(evicted(MACHINE, [14, 15]), [10, 12]);
});

test("planEviction() ends nobody of whom two looks differ, and says why it keeps who has a chosen GPU", () => {
  const later = {
    ...MACHINE,
    processes: MACHINE.processes.map((each) => each.pid === 10 ? { ...each, startTicks: 900 } : each),
  };
  assert.deepEqual(evicted(MACHINE, [], later), [12]);
  const scope = { gpus: new Set([uuidOf(0)]), named: new Set<Pid>(), protect: [] };
  const { kept } = planEviction(timedLook(MACHINE), timedLook(later), scope);
  assert.deepEqual(kept.map((each) => each.pid), [10, 13, 14]);
});

test("planEviction() says of who was named and left behind what protects it, not that its class was not asked for", () => {
  const scope = { gpus: new Set([uuidOf(0)]), named: new Set([13, 15].map(pid)), protect: ["keep.py"] };
  const { kept } = planEviction(timedLook(MACHINE), timedLook(MACHINE), scope);
  assert.deepEqual(kept.filter((each) => each.pid === 15).map(({ why }) => why), [
    'is protected by "keep.py"',
  ]);
});

test("findEvictable() finds nobody where the processes were not looked at", () => {
  const found = [...findEvictable(resetInput({ machine: MACHINE }))];
  assert.deepEqual(found, [10, 12, 15]);
  const blind = resetInput({ machine: MACHINE, observation: { scan: absent("failed") } });
  assert.deepEqual([...findEvictable(blind)], []);
});

test("planEviction() ends a nohup job that was named only while it does not work", () => {
  const nohup = (cpuTicks: number, ticks: number): MachineSpec => ({
    processes: [{ pid: 700, touch: "context", ignoresHangup: true, cpuTicks }],
    ticks,
  });
  assert.deepEqual(evicted(nohup(0, 1_000_000), [700], nohup(0, 1_000_300)), [700]);
  assert.deepEqual(evicted(nohup(0, 1_000_000), [700], nohup(300, 1_000_300)), []);
  assert.deepEqual(evicted(nohup(0, 1_000_000), [], nohup(0, 1_000_300)), []);
});
