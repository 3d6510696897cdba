import assert from "node:assert/strict";
import { test } from "node:test";
import {
  DEFAULT_CLASSES,
  type EndingPlan,
  type EndingPolicy,
  planEnding,
} from "../../../lib/analysis/ending.ts";
import { pid } from "../../../lib/core/ids.ts";
import { bytes, milliseconds } from "../../../lib/core/units.ts";
import type { HolderClass } from "../../../lib/model/snapshot.ts";
import { type MachineSpec, type ProcessSpec, timedLook, uuidOf } from "../../support/machine.ts";

const SPAWNED = [
  "python3",
  "-c",
  "from multiprocessing.spawn import spawn_main; spawn_main()",
  "--multiprocessing-fork",
];
const orphan: ProcessSpec = { pid: 900, touch: "context", argv: SPAWNED };
/** What shows that a holder runs by intent. */
const DETACHED = "ignores SIGHUP, as nohup sets it";
const policy: EndingPolicy = {
  classes: new Set<HolderClass>(DEFAULT_CLASSES),
  minAge: milliseconds(30_000),
  minBytes: bytes(0),
  protect: [],
};

function plan(before: MachineSpec, after: MachineSpec, changes: Partial<EndingPolicy> = {}): EndingPlan {
  const first = timedLook({ ticks: 1_000_000, ...before });
  return planEnding(first, timedLook({ ticks: 1_000_300, ...after }), { ...policy, ...changes });
}

function steady(spec: MachineSpec, changes: Partial<EndingPolicy> = {}): EndingPlan {
  return plan(spec, spec, changes);
}

function whyKept(spec: MachineSpec, changes: Partial<EndingPolicy> = {}): string | undefined {
  return steady(spec, changes).kept[0]?.why;
}

test("planEnding() ends an orphan that was one in both looks", () => {
  assert.deepEqual(steady({ processes: [orphan] }), {
    acts: [{
      identity: { pid: 900, startTicks: 9000 },
      class: "orphan",
      evidence: [
        "was started by multiprocessing (spawn_main … --multiprocessing-fork)",
        "the Python program that started it has ended: its parent is now PID 1 (systemd)",
        "memory that its owner shared with it (CUDA IPC) would count as its own now",
      ],
      command:
        "python3 -c 'from multiprocessing.spawn import spawn_main; spawn_main()' --multiprocessing-fork",
      frees: [{ gpu: uuidOf(0), pid: 900, used: { ok: true, value: 520 * 1024 ** 2 }, keepers: [900] }],
      bytesBefore: 520 * 1024 ** 2,
      depth: 1,
    }],
    kept: [],
  });
});

test("planEnding() counts the dead process's memory as what ending its keeper frees", () => {
  const { acts } = steady({ processes: [{ pid: 812, touch: "inherited" }], dead: [{ pid: 794, mib: 2566 }] });

  assert.deepEqual(acts.map(({ frees, bytesBefore }) => ({ frees, bytesBefore })), [
    {
      frees: [{ gpu: uuidOf(0), pid: 794, used: { ok: true, value: 2566 * 1024 ** 2 }, keepers: [812] }],
      bytesBefore: 2566 * 1024 ** 2,
    },
  ]);
});

test("planEnding() leaves alone what was not there a moment ago", () => {
  assert.equal(plan({ processes: [] }, { processes: [orphan] }).kept[0]?.why, "appeared between two looks");
});

test("planEnding() leaves a later process under the same pid alone", () => {
  const { acts, kept } = plan({ processes: [{ ...orphan, startTicks: 8000 }] }, { processes: [orphan] });

  assert.deepEqual([acts, kept[0]?.why], [[], "another process had this pid a moment ago"]);
});

test("planEnding() leaves alone what was something else a moment ago", () => {
  const parent: ProcessSpec = { pid: 800, touch: "context", ignoresHangup: true };
  const before = { processes: [parent, { ...orphan, parent: 800 }] };

  assert.equal(plan(before, { processes: [orphan] }).kept[0]?.why, "was live a moment ago");
});

test("planEnding() leaves an orphan at work alone until it is named", () => {
  const before = { processes: [{ ...orphan, cpuTicks: 100 }] };
  const after = { processes: [{ ...orphan, cpuTicks: 250 }] };

  assert.equal(plan(before, after).kept[0]?.why, "is at work: it used 50 % of a core between two looks");
  assert.equal(plan(before, after, { pids: new Set([pid(900)]) }).acts.length, 1);
});

test("planEnding() leaves young processes alone until they are named", () => {
  const young = { processes: [{ ...orphan, startTicks: 999_000 }] };

  assert.equal(whyKept(young), "is younger than 30 s");
  assert.equal(steady(young, { pids: new Set([pid(900)]) }).acts.length, 1);
});

test("planEnding() never ends what gpuctl runs under, PID 1, or another user's process without root", () => {
  assert.equal(whyKept({ processes: [orphan], ancestors: [900] }), "gpuctl runs under it");
  const foreign = { processes: [{ ...orphan, user: { uid: 1001, name: "bob" } }], reader: { isRoot: false } };
  assert.equal(whyKept(foreign, { pids: new Set([pid(900)]) }), "belongs to bob: run with sudo");
});

test("planEnding() never signals state D, not even when it is named", () => {
  const spec = { processes: [{ ...orphan, state: "D", waitsIn: "folio_wait_bit_common" } as const] };

  assert.equal(whyKept(spec, { pids: new Set([pid(900)]) }), "is in state D: no signal reaches it");
});

test("planEnding() ends the keepers of a live Slurm job's dead rank only when that job is named", () => {
  const spec: MachineSpec = {
    processes: [
      { pid: 40, program: "/usr/sbin/slurmstepd", argv: ["slurmstepd:", "[77.batch]"] },
      { pid: 812, touch: "inherited", owner: { slurmJob: "77" } },
    ],
    dead: [{ pid: 794, mib: 100 }],
    supervisors: [40],
  };

  assert.equal(whyKept(spec), "belongs to Slurm job 77, whose slurmstepd lives (PID 40)");
  assert.equal(steady(spec, { slurmJob: "77" }).acts.length, 1);
});

test("planEnding() keeps what a selector does not choose", () => {
  const spec = { gpus: [{}, {}], processes: [orphan] };

  assert.equal(whyKept(spec, { gpus: new Set([uuidOf(1)]) }), "was not asked for (--gpu)");
  assert.equal(whyKept(spec, { users: new Set(["bob"]) }), "was not asked for (--user)");
  assert.equal(whyKept(spec, { pids: new Set([pid(1000)]) }), "was not asked for (--pid)");
  assert.equal(whyKept(spec, { slurmJob: "7" }), "was not asked for (--slurm-job)");
  assert.equal(whyKept(spec, { container: "70" }), "was not asked for (--container)");
  assert.equal(whyKept(spec, { unit: "x.service" }), "was not asked for (--unit)");
  assert.equal(whyKept(spec, { cgroup: "/user.slice/user-1000" }), "was not asked for (--cgroup)");
  assert.equal(whyKept(spec, { minBytes: bytes(2 ** 30) }), "holds less than the minimum");
  assert.equal(whyKept(spec, { protect: ["spawn_main"] }), 'is protected by "spawn_main"');
});

test("planEnding() says of who was not asked for just that, whatever else keeps them", () => {
  const others = { processes: [{ ...orphan, user: { uid: 1001, name: "bob" } }], reader: { isRoot: false } };
  assert.equal(whyKept(others, { pids: new Set([pid(1000)]) }), "was not asked for (--pid)");
  const live = { processes: [{ pid: 901, touch: "context", ignoresHangup: true } as const] };
  assert.equal(whyKept(live, { slurmJob: "7" }), "was not asked for (--slurm-job)");
});

test("planEnding() takes what shows that a holder was left behind for no reason to leave it alone", () => {
  const detached: ProcessSpec = { pid: 901, touch: "context", ignoresHangup: true };
  const spec = { processes: [orphan, detached] };
  const whys = (classes: readonly HolderClass[]) =>
    steady(spec, { classes: new Set(classes) }).kept.map(({ pid, why }) => [pid, why]);

  assert.deepEqual(whys(["stopped"]), [
    [900, "was not asked for (--class)"],
    [901, DETACHED],
  ]);
  assert.deepEqual(whys(["detached"]), [[900, "was not asked for (--class)"]]);
  assert.deepEqual(whys(DEFAULT_CLASSES), [[901, DETACHED]]);
});

test("planEnding() ends those nearest to the root first", () => {
  const engine: ProcessSpec = { pid: 910, touch: "context", argv: ["VLLM::EngineCore"] };
  const worker: ProcessSpec = { pid: 905, parent: 910, touch: "context", argv: ["VLLM::Worker_TP0"] };

  assert.deepEqual(steady({ processes: [worker, engine] }).acts.map(({ identity }) => identity.pid), [
    910,
    905,
  ]);
});

test("planEnding() judges a named container's processes as they look from inside it", () => {
  const id = "7".repeat(64);
  const owner = { container: { id, runtime: "docker", isMonitor: false } } as const;
  const spec: MachineSpec = {
    processes: [
      { pid: 40, program: "/usr/bin/containerd-shim-runc-v2", argv: ["shim", "-id", id] },
      { pid: 50, parent: 40, program: "/usr/bin/tini", owner, namespacePids: [50, 1] },
      { ...orphan, parent: 50, owner, namespacePids: [900, 12] },
      { pid: 60, parent: 50, touch: "context", owner, namespacePids: [60, 9], terminal: 34_816 },
    ],
    supervisors: [40],
  };

  assert.deepEqual(steady(spec).acts, []);
  const named = steady(spec, { container: "777777777777" });
  assert.deepEqual(named.acts.map(({ identity }) => identity.pid), [900]);
  assert.deepEqual(named.kept.map(({ pid, class: name }) => [pid, name]), [[60, "detached"]]);
});

test("planEnding() says which of those that it leaves alone are left behind all the same", () => {
  const isSpared = (spec: MachineSpec, changes: Partial<EndingPolicy> = {}) =>
    steady(spec, changes).kept.map((kept) => kept.isSpared);
  const young = { processes: [{ ...orphan, startTicks: 999_000 }], gpus: [{}, {}] };

  assert.deepEqual(isSpared(young), [true]);
  assert.deepEqual(isSpared({ processes: [orphan], ancestors: [900] }), [true]);
  const before = { processes: [{ ...orphan, cpuTicks: 100 }] };
  const after = { processes: [{ ...orphan, cpuTicks: 250 }] };
  assert.deepEqual(plan(before, after).kept.map((kept) => kept.isSpared), [true]);
  assert.deepEqual(plan({ processes: [] }, { processes: [orphan] }).kept.map((kept) => kept.isSpared), [
    true,
  ]);

  for (
    const leftOut of [
      { classes: new Set<HolderClass>(["inherited"]) },
      { gpus: new Set([uuidOf(1)]) },
      { pids: new Set([pid(1000)]) },
      { users: new Set(["bob"]) },
      { container: "70" },
      { slurmJob: "7" },
      { minBytes: bytes(2 ** 40) },
      { protect: ["spawn_main"] },
      { idle: { for: milliseconds(1), spans: new Map() } },
    ] satisfies Partial<EndingPolicy>[]
  ) assert.deepEqual(isSpared(young, leftOut), [false], Object.keys(leftOut).join());
  const others = { processes: [{ ...orphan, user: { uid: 1001, name: "bob" } }], reader: { isRoot: false } };
  assert.deepEqual(isSpared(others), [false]);
  assert.deepEqual(isSpared({ processes: [{ pid: 901, touch: "context", ignoresHangup: true }] }), [false]);
});
