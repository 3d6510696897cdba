import assert from "node:assert/strict";
import { test } from "node:test";
import { findBlockers } from "../../../lib/analysis/reset_blockers.ts";
import { judgeResetNeeds } from "../../../lib/analysis/reset_need.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import type { Blocker } from "../../../lib/model/reset.ts";
import type { MachineSpec, ProcessSpec } from "../../support/machine.ts";
import { resetInput, type ResetScene, service } from "../../support/reset_scene.ts";

const ROOT = { uid: 0, name: "root" };
function blockersOf(scene: ResetScene): Blocker[] {
  const input = resetInput(scene);
  return findBlockers(input, judgeResetNeeds(input));
}

/** What a scene adds to what a plain one has. */
function added(scene: ResetScene): Omit<Blocker, "gpu">[] {
  return blockersOf(scene).filter(({ kind }) => kind !== "settings").map(({ gpu: _gpu, ...rest }) => rest);
}

function unitOwner(unit: string): Pick<ProcessSpec, "owner" | "user"> {
  return { owner: { cgroup: `/system.slice/${unit}`, unit }, user: ROOT };
}

function process(spec: ProcessSpec): MachineSpec {
  return { processes: [spec] };
}

test("findBlockers() finds a service by its main pid, and is not fooled by a cgroup that is named after a unit", () => {
  const services = known([service("nvidia-dcgm.service", "dcgm", 2180)]);
  const engine = process({ pid: 2180, program: "/usr/bin/nv-hostengine", touch: "monitor", user: ROOT });
  assert.deepEqual(
    added({ machine: engine, facts: { services } }).map(({ unit, clearedBy }) => [unit, clearedBy]),
    [
      ["nvidia-dcgm.service", "stop-services"],
    ],
  );
  const cgroups = [
    "/user.slice/user-1000.slice/user@1000.service/nvidia-dcgm.service",
    "/system.slice/eve.service/nvidia-dcgm.service",
  ];
  const fakes = cgroups.map((cgroup) =>
    process({ pid: 666, touch: "monitor", owner: { cgroup, unit: "nvidia-dcgm.service" } })
  );
  const option = process({ pid: 666, touch: "monitor", ...unitOwner("--host=evil.service") });
  assert.deepEqual(
    [...fakes, option].map((machine) =>
      added({ machine, facts: { services } }).map(({ unit, clearedBy }) => [unit, clearedBy])
    ),
    [[[undefined, "nobody"]], [[undefined, "nobody"]], [[undefined, "nobody"]]],
  );
});

test("findBlockers() needs nothing of the persistence daemon but that persistence mode is switched off", () => {
  const unit = "nvidia-persistenced.service";
  const machine = process({
    pid: 2890,
    program: "/usr/bin/nvidia-persistenced",
    touch: "monitor",
    ...unitOwner(unit),
  });
  const facts = { services: known([service(unit, "persistence-daemon", 2890)]) };
  const found = added({ machine, facts, gpus: { 0: { persistenceMode: known(true) } } });
  assert.deepEqual(found.map(({ kind, who, clearedBy }) => [kind, who, clearedBy]), [
    ["persistence-mode", "persistence mode", "plan"],
    ["service", "PID 2890 (nvidia-persistenced train.py)", "plan"],
  ]);
  assert.deepEqual(added({ machine, facts })[0]?.clearedBy, "stop-services");
});

test("findBlockers() stops Fabric Manager before Ampere, needs it on Ampere and ignores it later", () => {
  const unit = "nvidia-fabricmanager.service";
  const machine = process({
    pid: 50,
    program: "/usr/bin/nv-fabricmanager",
    touch: "monitor",
    ...unitOwner(unit),
  });
  const facts = { services: known([service(unit, "fabric-manager", 50)]) };
  const clearers = ["Volta", "Ampere", "Hopper", "Blackwell", "Rubin"].map((name) =>
    added({ machine, facts, gpus: { 0: { has: { architecture: known(name) } } } })[0]?.clearedBy
  );
  assert.deepEqual(clearers, ["stop-services", "warning", "warning", "warning", "warning"]);
  const unknown = { 0: { has: { architecture: absent("not-reported") } } };
  assert.equal(added({ machine, facts, gpus: unknown })[0]?.clearedBy, "stop-services");
});

test("findBlockers() counts the clients of an MPS server, and never ends the server", () => {
  const machine = {
    processes: [
      { pid: 60, program: "/usr/bin/nvidia-cuda-mps-server", touch: "context", user: ROOT },
      { pid: 61, touch: "context", kind: "mps-client", parent: 500 },
    ],
  } as const;
  assert.deepEqual(added({ machine }).find(({ pid }) => pid === 60), {
    kind: "mps",
    who: "PID 60 (nvidia-cuda-mps-server train.py)",
    pid: 60,
    why: "has memory on it; it serves 1 MPS client on it",
    remedy: "echo quit | nvidia-cuda-mps-control, once its clients have ended",
    clearedBy: "nobody",
  });
});

test("findBlockers() lets a display go with its manager, and refuses without one", () => {
  const machine = process({ pid: 3392, program: "/usr/lib/xorg/Xorg", touch: "visible" });
  const scene = { machine, gpus: { 0: { displayActive: known(true) } } };
  const gdm = { services: known([service("gdm.service", "display-manager")]) };
  assert.deepEqual(
    [added({ ...scene, facts: gdm }), added(scene)].map((found) =>
      found.map(({ kind, unit, clearedBy }) => [kind, unit, clearedBy])
    ),
    [
      [["display", "gdm.service", "stop-services"], ["display", "gdm.service", "stop-services"]],
      [["display", undefined, "nobody"], ["display", undefined, "nobody"]],
    ],
  );
});

test("findBlockers() has --stop-services stop no unit that is at work on a GPU, be it another one", () => {
  const of = (worker: Partial<ProcessSpec>): MachineSpec => ({
    gpus: [{}, {}],
    processes: [
      { pid: 810, program: "/usr/bin/watcher", touch: "monitor", ...unitOwner("runner.service") },
      { pid: 811, touch: "context", on: [1], ...unitOwner("runner.service"), ...worker },
    ],
  });
  const first = ({ pid, unit, clearedBy, why }: Omit<Blocker, "gpu">) => [pid, unit, clearedBy, why];
  assert.deepEqual(
    [of({}), of({ touch: "monitor" }), of(unitOwner("train.service"))].map((machine) =>
      added({ machine }).map(first)
    ),
    [
      [[
        810,
        undefined,
        "nobody",
        "has it open; runs in runner.service; PID 811 of it has memory on a GPU: " +
        "that is work, which nobody but you may stop",
      ]],
      [[810, "runner.service", "stop-services", "has it open; runs in runner.service"]],
      [[810, "runner.service", "stop-services", "has it open; runs in runner.service"]],
    ],
  );
});

test("findBlockers() has --stop-services stop MPS only while it serves nobody on any GPU", () => {
  const machine = (client: readonly ProcessSpec[]): MachineSpec => ({
    gpus: [{}, {}],
    processes: [
      { pid: 60, program: "/usr/bin/nvidia-cuda-mps-server", touch: "context", user: ROOT },
      ...client,
    ],
  });
  const facts = { services: known([service("nvidia-mps.service", "mps", 60)]) };
  const client: ProcessSpec = { pid: 61, touch: "context", kind: "mps-client", on: [1], parent: 500 };
  assert.deepEqual(
    [[], [client]].map((each) => added({ machine: machine(each), facts })[0]?.clearedBy),
    ["stop-services", "nobody"],
  );
});

test("findBlockers() has --stop-services stop only what can be started again", () => {
  const monitor = process({
    pid: 812,
    program: "/usr/bin/nv-hostengine",
    touch: "monitor",
    ...unitOwner("dcgm-by-hand.service"),
  });
  const clearers = [
    known(new Set<string>()),
    known(new Set(["dcgm-by-hand.service"])),
    absent("failed", "EIO"),
  ]
    .map((transientUnits) => added({ machine: monitor, facts: { transientUnits } })[0])
    .map((blocker) => [blocker?.clearedBy, blocker?.unit, blocker?.why.split("; ").at(-1)]);
  assert.deepEqual(clearers, [
    ["stop-services", "dcgm-by-hand.service", "runs in dcgm-by-hand.service"],
    ["nobody", undefined, "somebody made it with systemd-run, so that it cannot be started again"],
    ["nobody", undefined, "whether it can be started again is not known: the call failed (EIO)"],
  ]);
});

test("findBlockers() has --stop-services stop nothing that gpuctl itself runs in", () => {
  const unit = unitOwner("telegraf.service");
  const machine: MachineSpec = {
    processes: [
      { pid: 812, program: "/usr/bin/telegraf", touch: "monitor", ...unit },
      { pid: 77, touch: "monitor", ...unit },
    ],
    reader: { helpers: [77] },
  };
  const [found] = added({ machine });
  assert.deepEqual([found?.pid, found?.clearedBy, found?.unit], [812, "nobody", undefined]);
  assert.match(found?.why ?? "", /; gpuctl itself runs in it, and would be stopped with it$/);
});
