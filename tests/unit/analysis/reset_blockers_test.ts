import assert from "node:assert/strict";
import { test } from "node:test";
import { findBlockers, findClockBlockers, findStanding } from "../../../lib/analysis/reset_blockers.ts";
import { judgeResetNeeds } from "../../../lib/analysis/reset_need.ts";
import { parseBusId } from "../../../lib/core/ids.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import type { Blocker } from "../../../lib/model/reset.ts";
import { type MachineSpec, type ProcessSpec, uuidOf } from "../../support/machine.ts";
import { NO_FLAGS, resetInput, type ResetScene, service } from "../../support/reset_scene.ts";

const ROOT = { uid: 0, name: "root" };
const SETTINGS = {
  gpu: uuidOf(0),
  kind: "settings",
  who: "settings",
  why: "power limit, locked and application clocks, compute mode and accounting records are lost by a reset",
  remedy: "note them first: nvidia-smi -q; set them again afterwards",
  clearedBy: "warning",
};

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

test("findBlockers() finds nothing in the way of a free GPU, and says what a reset throws away", () => {
  assert.deepEqual(blockersOf({}), [SETTINGS]);
});

test("findBlockers() names a job at work, and leaves it to its user", () => {
  assert.deepEqual(added({ machine: process({ pid: 812, touch: "context", parent: 700 }) }), [{
    kind: "holder",
    who: "PID 812 (python3.12 train.py)",
    pid: 812,
    why: "has memory on it",
    remedy: "ask alice: whether it is at work could not be told",
    clearedBy: "nobody",
  }]);
});

test("findBlockers() lets --evict end what a cleaning would end, and a suspended one only when it is named", () => {
  const orphan = process({ pid: 901, touch: "context", owner: { cgroup: "/gone", isCgroupDeleted: true } });
  assert.deepEqual(added({ machine: orphan }), [{
    kind: "holder",
    who: "PID 901 (python3.12 train.py)",
    pid: 901,
    why: "has memory on it: job-leftover, its cgroup has been removed: /gone",
    remedy: "--evict ends it first",
    clearedBy: "evict",
  }]);
  const young = { ...orphan, ticks: 9011 };
  assert.deepEqual(added({ machine: young }).map(({ clearedBy }) => clearedBy), ["nobody"]);
  const stopped = process({ pid: 902, touch: "context", state: "T" });
  const named = new Set([resetInput({ machine: stopped }).snapshot.holders[0]?.pid ?? assert.fail()]);
  assert.deepEqual(
    [{}, { named }].map((flags) => added({ machine: stopped, flags })[0]?.clearedBy),
    ["nobody", "evict"],
  );
});

test("findBlockers() sends nobody to kill a job that is at work, and says which job a rank is of", () => {
  const rank = (id: number, place: number) => ({
    pid: id,
    parent: 700,
    touch: "context" as const,
    environment: { TORCHELASTIC_RUN_ID: "a", LOCAL_RANK: `${place}`, RANK: `${place}`, MASTER_PORT: "1" },
  });
  const machine: MachineSpec = {
    processes: [
      { pid: 700, program: "/usr/bin/python3.12", parent: 600 },
      {
        pid: 600,
        program: "/usr/bin/bash",
      },
      rank(812, 0),
      rank(813, 1),
    ],
  };
  const remedies = findBlockers(resetInput({ machine }), []).filter(({ pid }) => pid !== undefined)
    .map(({ pid, remedy }) => [pid, remedy]);
  const remedy = "it is at work: wait until it has ended, or ask alice to end the torchrun job of PID 812";
  assert.deepEqual(remedies, [[812, remedy], [813, remedy]]);
});

test("findBlockers() names who merely has the GPU open, with the unit that stops it", () => {
  const monitor = process({
    pid: 5135,
    program: "/usr/bin/geopmd",
    touch: "monitor",
    ...unitOwner("geopm.service"),
  });
  assert.deepEqual(added({ machine: monitor }), [{
    kind: "service",
    who: "PID 5135 (geopmd train.py)",
    pid: 5135,
    unit: "geopm.service",
    why: "has it open; runs in geopm.service",
    remedy: "systemctl stop geopm.service",
    clearedBy: "stop-services",
  }]);
  assert.deepEqual(added({ machine: process({ pid: 77, program: "/usr/bin/nvtop", touch: "monitor" }) }), [{
    kind: "opener",
    who: "PID 77 (nvtop train.py)",
    pid: 77,
    why: "has it open",
    remedy: "close it, or ask alice to; it opens the GPU and uses nothing of it",
    clearedBy: "nobody",
  }]);
});

test("findBlockers() sends who belongs to a job, a pod or a container there", () => {
  const owners = [
    { slurmJob: "77; reboot" },
    { pod: "1111-2222" },
    { container: { id: "a".repeat(64), runtime: "docker", isMonitor: false } },
  ] as const;
  const remedies = owners.map((owner) =>
    added({ machine: process({ pid: 812, touch: "context", owner, namespacePids: [812, 1] }) })[0]?.remedy
  );
  assert.deepEqual(remedies, [
    "end its Slurm job: scancel '77; reboot'",
    "delete or drain its pod, 1111-2222",
    "stop its container, aaaaaaaaaaaa",
  ]);
});

test("findBlockers() begins nothing while a holder is in state D", () => {
  const machine = process({ pid: 812, touch: "context", state: "D", waitsIn: "nvidia_ioctl" });
  assert.deepEqual(added({ machine }).map(({ kind, who, clearedBy }) => [kind, who, clearedBy]), [
    ["needs-reboot", "state of the GPU", "nobody"],
    ["stuck", "PID 812 (python3.12 train.py)", "nobody"],
  ]);
});

test("findBlockers() lists a process of which nothing but its descriptors is known", () => {
  const input = resetInput({ machine: process({ pid: 812, touch: "context" }) });
  const { scan } = input.observation;
  assert.ok(scan.ok);
  const observation = { ...input.observation, scan: known({ ...scan.value, processes: new Map() }) };
  const found = findBlockers({ ...input, observation, snapshot: { ...input.snapshot, holders: [] } }, []);
  assert.deepEqual(found.find(({ pid, clearedBy }) => pid === 812 && clearedBy === "nobody"), {
    gpu: uuidOf(0),
    kind: "opener",
    who: "PID 812",
    pid: 812,
    why: "has it open",
    remedy: "ask whoever started it: whether it is at work could not be told",
    clearedBy: "nobody",
  });
});

test("findBlockers() leaves gpuctl's own helpers out, and names gpuctl itself where it was started with a GPU open", () => {
  const helper = process({ pid: 77, touch: "monitor" });
  assert.deepEqual(added({ machine: { ...helper, reader: { helpers: [77] } } }), []);
  assert.deepEqual(added({ machine: process({ pid: 99_999, touch: "monitor" }) }), [{
    kind: "opener",
    pid: 99_999,
    who: "gpuctl itself (PID 99999)",
    why: "was started with it open: a redirection of the shell, or a descriptor of who started it",
    remedy: "start gpuctl without it",
    clearedBy: "nobody",
  }]);
});

test("findBlockers() lets no GPU be reset that cannot be told from another one", () => {
  const machine: MachineSpec = { gpus: [{}, {}], processes: [] };
  const [first] = resetInput({ machine }).gpus;
  assert.ok(first);
  const shared = [{ uuid: first.uuid }, { busId: first.busId }, { minor: first.minor }];
  assert.deepEqual(
    shared.map((change) =>
      added({ machine, gpus: { 1: change } }).map(({ kind, why, clearedBy }) => [kind, why, clearedBy])
    ),
    ["the UUID", "the PCI address", "the device number"].map((what) => [[
      "driver",
      `the driver gives ${what} of it to GPU 1 too: which one is meant cannot be told`,
      "nobody",
    ]]),
  );
});

/** What stands in the way for each of these facts: kind and who clears it. */
const FACTS: readonly [string, ResetScene, readonly (readonly [Blocker["kind"], Blocker["clearedBy"]])[]][] =
  [
    ["a user who is not root", { flags: { isRoot: false } }, [["not-root", "nobody"]]],
    ["no nvidia-smi", { smiPath: absent("failed", "ENOENT") }, [["driver", "nobody"]]],
    ["a GPU without an address", { gpus: { 0: { busId: absent("failed") } } }, [["driver", "nobody"]]],
    ["a container that sees every process", { facts: { isContainer: known(true) } }, [[
      "container",
      "warning",
    ]]],
    [
      "a container with a PID namespace of its own",
      { machine: { processes: [], reader: { isInitial: false } }, facts: { isContainer: known(true) } },
      [["container", "nobody"]],
    ],
    [
      "another PID namespace",
      { machine: { processes: [], reader: { isInitial: false } } },
      [["container", "nobody"]],
    ],
    ["WSL", { facts: { platform: known("wsl") } }, [["platform", "nobody"]]],
    ["Tegra", { facts: { platform: known("tegra") } }, [["platform", "nobody"]]],
    ["a virtual machine", { facts: { platform: known("virtual-machine") } }, [["platform", "warning"]]],
    ["an unknown platform", { facts: { platform: absent("failed") } }, [["platform", "warning"]]],
    [
      "processes that root cannot read",
      { machine: { processes: [], reader: { unreadable: 3 } } },
      [["unseen-processes", "warning"]],
    ],
    [
      "processes that a user cannot read",
      { machine: { processes: [], reader: { unreadable: 3, isRoot: false } } },
      [["unseen-processes", "nobody"]],
    ],
    [
      "a scan that was cut short",
      { machine: { processes: [], reader: { cutShort: "timed-out" } } },
      [["unseen-processes", "nobody"]],
    ],
    ["the console", { facts: { consoleGpus: known(new Set([parseBusId("0:0:0.0")])) } }, [[
      "console",
      "nobody",
    ]]],
    ["an unknown console", { facts: { consoleGpus: absent("failed") } }, [["console", "warning"]]],
    ["unknown services", { facts: { services: absent("failed") } }, [["service", "warning"]]],
    ["IMEX", { facts: { services: known([service("nvidia-imex.service", "imex")]) } }, [["imex", "warning"]]],
    ["a vGPU host", { gpus: { 0: { has: { virtualization: known("vgpu-host") } } } }, [["vgpu", "nobody"]]],
    ["a vGPU guest", { gpus: { 0: { has: { virtualization: known("vgpu-guest") } } } }, [["vgpu", "nobody"]]],
    ["pass-through", { gpus: { 0: { has: { virtualization: known("passthrough") } } } }, [[
      "vgpu",
      "warning",
    ]]],
    [
      "MIG, and its end pending",
      { gpus: { 0: { migMode: known({ current: true, pending: false }) } } },
      [["mig", "warning"], ["mig", "warning"]],
    ],
    ["an unknown persistence mode", { gpus: { 0: { persistenceMode: absent("failed") } } }, [[
      "persistence-mode",
      "warning",
    ]]],
    ["a GPU that needs a reboot", { gpus: { 0: { recoveryAction: known("reboot") } } }, [[
      "needs-reboot",
      "nobody",
    ]]],
    ["an unread list", { gpus: { 0: { processList: { state: "unknown", reason: absent("failed") } } } }, [[
      "unseen-processes",
      "warning",
    ]]],
    ["a dead process's memory", { machine: { processes: [], dead: [{ pid: 794, mib: 9 }] } }, [[
      "holder",
      "warning",
    ]]],
    [
      "work elsewhere under an old driver",
      {
        driver: "535.183.01",
        machine: { gpus: [{}, {}], processes: [{ pid: 5, touch: "context", on: [1] }] },
      },
      [["holder", "warning"]],
    ],
  ];

for (const [name, scene, expected] of FACTS) {
  test(`findBlockers() tells of ${name}`, () => {
    assert.deepEqual(added(scene).map(({ kind, clearedBy }) => [kind, clearedBy]), expected);
  });
}

test("findBlockers() tells of users in the kernel, and blocks where they can only be on this GPU", () => {
  const modules = known([
    { name: "nvidia_drm", references: 4, usedBy: [] },
    { name: "gdrdrv", references: 1, usedBy: [] },
    { name: "nvidia_peermem", references: 0, usedBy: [] },
  ]);
  const scene = { facts: { modules, drmModeset: known(true) } };
  const two = { ...scene, machine: { gpus: [{}, {}], processes: [] } };
  assert.deepEqual(
    [scene, two].map((each) => added(each).map(({ who, clearedBy }) => [who, clearedBy])),
    [
      [["gdrdrv", "nobody"], ["nvidia_drm", "nobody"]],
      [["gdrdrv", "warning"], ["nvidia_drm", "warning"]],
    ],
  );
  const idle = known([{ name: "nvidia_drm", references: 0, usedBy: [] }]);
  assert.deepEqual(
    [known(true), known(false)].map((drmModeset) =>
      added({ facts: { modules: idle, drmModeset } }).map(({ clearedBy }) => clearedBy)
    ),
    [["warning"], []],
  );
});

test("findBlockers() tells of a driver that is silent, and of processes that could not be looked at", () => {
  const failed = absent("timed-out");
  assert.deepEqual(
    added({ observation: { report: failed, scan: failed } }).map(({ kind, clearedBy }) => [kind, clearedBy]),
    [["driver", "nobody"], ["unseen-processes", "nobody"]],
  );
});

test("findStanding() leaves what neither the plan nor a given flag clears", () => {
  const of = (clearedBy: Blocker["clearedBy"]): Blocker => ({
    kind: "holder",
    who: "",
    why: "",
    remedy: "",
    clearedBy,
  });
  const all = (["nobody", "evict", "stop-services", "plan", "warning"] as const).map(of);
  const kinds = (flags: Partial<typeof NO_FLAGS>) =>
    findStanding(all, { ...NO_FLAGS, ...flags }).map(({ clearedBy }) => clearedBy);
  assert.deepEqual(kinds({}), ["nobody", "evict", "stop-services"]);
  assert.deepEqual(kinds({ evict: true, stopServices: true }), ["nobody"]);
});

test("findClockBlockers() needs the rights and an address, and neither nvidia-smi nor anybody to leave", () => {
  const busy = { machine: process({ pid: 812, touch: "context" as const }) };
  assert.deepEqual(findClockBlockers(resetInput(busy)), []);
  const none = {
    flags: { isRoot: false },
    smiPath: absent("failed"),
    gpus: { 0: { busId: absent("failed") } },
  };
  assert.deepEqual(findClockBlockers(resetInput(none)).map(({ kind }) => kind), [
    "not-root",
    "driver",
  ]);
});
