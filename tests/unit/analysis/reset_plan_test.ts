import assert from "node:assert/strict";
import { test } from "node:test";
import { findBlockers, findClockBlockers } from "../../../lib/analysis/reset_blockers.ts";
import { judgeResetNeeds } from "../../../lib/analysis/reset_need.ts";
import { busIdsOf, planClocks, planReset } from "../../../lib/analysis/reset_plan.ts";
import { parseBusId } from "../../../lib/core/ids.ts";
import { known } from "../../../lib/core/reading.ts";
import { uuidOf } from "../../support/machine.ts";
import { resetInput, type ResetScene, service } from "../../support/reset_scene.ts";

function planOf(scene: ResetScene) {
  const input = resetInput(scene);
  return planReset(input, findBlockers(input, judgeResetNeeds(input)));
}

const ROOT = { uid: 0, name: "root" };
/** Two GPUs with persistence mode on, one leftover and two services. */
const BUSY: ResetScene = {
  chosen: [0, 1],
  machine: {
    gpus: [{}, {}],
    processes: [
      { pid: 901, touch: "context", owner: { cgroup: "/gone", isCgroupDeleted: true } },
      { pid: 2180, program: "/usr/bin/nv-hostengine", touch: "monitor", on: [0, 1], user: ROOT },
      { pid: 2181, program: "/usr/bin/gpud", touch: "monitor", on: [1], user: ROOT },
    ],
  },
  gpus: { 0: { persistenceMode: known(true) }, 1: { persistenceMode: known(true) } },
  facts: {
    services: known([
      service("nvidia-dcgm.service", "dcgm", 2180),
      service("gpud.service", "telemetry", 2181),
    ]),
  },
};

test("planReset() puts back what it changed, in the reverse order, and reads again last", () => {
  const steps = planOf({ ...BUSY, flags: { evict: true, stopServices: true } });
  assert.deepEqual(
    steps.map(({ kind, what, command, isUndo }) => [kind, isUndo, what, command?.join(" ")]),
    [
      ["evict", false, "end PID 901 (python3.12 train.py), if a second look agrees", undefined],
      ["stop-service", false, "stop nvidia-dcgm.service", "systemctl stop nvidia-dcgm.service"],
      ["stop-service", false, "stop gpud.service", "systemctl stop gpud.service"],
      ["close-helper", false, "close gpuctl's own helper", undefined],
      [
        "persistence-off",
        false,
        "switch persistence mode of GPU 0 off",
        "nvidia-smi -i 00000000:00:00.0 -pm 0",
      ],
      [
        "persistence-off",
        false,
        "switch persistence mode of GPU 1 off",
        "nvidia-smi -i 00000000:01:00.0 -pm 0",
      ],
      ["reset", false, "reset GPU 0", "nvidia-smi -i 00000000:00:00.0 -r"],
      ["reset", false, "reset GPU 1", "nvidia-smi -i 00000000:01:00.0 -r"],
      [
        "persistence-on",
        true,
        "switch persistence mode of GPU 0 on again",
        "nvidia-smi -i 00000000:00:00.0 -pm 1",
      ],
      [
        "persistence-on",
        true,
        "switch persistence mode of GPU 1 on again",
        "nvidia-smi -i 00000000:01:00.0 -pm 1",
      ],
      ["start-service", true, "start gpud.service again", "systemctl start gpud.service"],
      ["start-service", true, "start nvidia-dcgm.service again", "systemctl start nvidia-dcgm.service"],
      ["read-again", false, "read GPU 0-1 again: is it back, and healthy?", undefined],
    ],
  );
  assert.deepEqual(steps[6], {
    kind: "reset",
    gpu: uuidOf(0),
    what: "reset GPU 0",
    command: ["nvidia-smi", "-i", "00000000:00:00.0", "-r"],
    isUndo: false,
    state: "planned",
  });
});

test("planReset() plans nothing while a flag is missing, or no GPU is chosen", () => {
  const flags = [{}, { evict: true }, { stopServices: true }];
  assert.deepEqual(flags.map((each) => planOf({ ...BUSY, flags: each })), [[], [], []]);
  assert.deepEqual(planOf({ chosen: [] }), []);
});

test("planReset() resets linked GPUs in one command", () => {
  const peers = [0, 1].map((index) => parseBusId(`0000:0${index}:00.0`));
  const has = (other: number) => ({
    architecture: known("Volta"),
    nvlinkPeers: known(peers.slice(other, other + 1)),
  });
  const steps = planOf({
    chosen: [0, 1],
    machine: { gpus: [{}, {}], processes: [] },
    gpus: { 0: { has: has(1) }, 1: { has: has(0) } },
  });
  const [reset] = steps.filter(({ kind }) => kind === "reset");
  assert.deepEqual(reset, {
    kind: "reset",
    what: "reset GPU 0-1 in one command",
    command: ["nvidia-smi", "-i", "00000000:00:00.0,00000000:01:00.0", "-r"],
    isUndo: false,
    state: "planned",
  });
  assert.deepEqual(busIdsOf(reset ?? assert.fail()), peers);
});

test("planReset() says when a helper of ours is seen with a GPU open", () => {
  const steps = planOf({
    machine: { processes: [{ pid: 77, touch: "monitor" }], reader: { helpers: [77] } },
  });
  assert.equal(steps[0]?.what, "close gpuctl's own helper: PID 77 has a GPU open");
});

test("planReset() writes addresses as nvidia-smi prints them", () => {
  const steps = planOf({ gpus: { 0: { busId: known(parseBusId("0000:c1:00.0")) } } });
  assert.deepEqual(steps.find(({ kind }) => kind === "reset")?.command, [
    "nvidia-smi",
    "-i",
    "00000000:C1:00.0",
    "-r",
  ]);
});

test("planClocks() undoes what it is asked to, on each GPU, and plans nothing without the rights", () => {
  const kinds = { graphics: true, memory: false, applications: true };
  const scene = {
    machine: { gpus: [{}, {}], processes: [{ pid: 812, touch: "context" as const }] },
    chosen: [0, 1],
  };
  const input = resetInput(scene);
  const steps = planClocks(input, findClockBlockers(input), kinds);
  assert.deepEqual(steps.map(({ kind, what, command }) => [kind, what, command?.join(" ")]), [
    [
      "reset-clocks",
      "undo the locked graphics clocks of GPU 0, by NVML or, without such a call, by nvidia-smi",
      "nvidia-smi -i 00000000:00:00.0 -rgc",
    ],
    [
      "reset-clocks",
      "undo the applications clocks of GPU 0, by NVML or, without such a call, by nvidia-smi",
      "nvidia-smi -i 00000000:00:00.0 -rac",
    ],
    [
      "reset-clocks",
      "undo the locked graphics clocks of GPU 1, by NVML or, without such a call, by nvidia-smi",
      "nvidia-smi -i 00000000:01:00.0 -rgc",
    ],
    [
      "reset-clocks",
      "undo the applications clocks of GPU 1, by NVML or, without such a call, by nvidia-smi",
      "nvidia-smi -i 00000000:01:00.0 -rac",
    ],
  ]);
  const weak = resetInput({ ...scene, flags: { isRoot: false } });
  assert.deepEqual(planClocks(weak, findClockBlockers(weak), kinds), []);
});

test("busIdsOf() finds no GPU in a step that is not nvidia-smi's", () => {
  assert.deepEqual(busIdsOf({ command: ["systemctl", "stop", "-i"] }), []);
  assert.deepEqual(busIdsOf({}), []);
});
