import assert from "node:assert/strict";
import { test } from "node:test";
import { findLinkBlockers, findLinkRule, groupForReset } from "../../../lib/analysis/reset_links.ts";
import { parseBusId } from "../../../lib/core/ids.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import type { GpuHealth } from "../../../lib/model/gpu_health.ts";
import { uuidOf } from "../../support/machine.ts";
import { resetInput, type ResetScene, service } from "../../support/reset_scene.ts";

const MANAGED = { services: known([service("nvidia-fabricmanager.service", "fabric-manager")]) };
const ADDRESSES = [0, 1, 2, 3].map((index) => parseBusId(`0000:0${index}:00.0`));

/** Four GPUs, of which those at these places are linked with one another. */
function linked(places: readonly number[], has: Partial<GpuHealth>, scene: ResetScene = {}): ResetScene {
  const gpus = Object.fromEntries(
    places.map((place) => [place, {
      has: {
        nvlinkPeers: known(ADDRESSES.filter((_, other) => other !== place && places.includes(other))),
        ...has,
      },
    }]),
  );
  return { machine: { gpus: [{}, {}, {}, {}], processes: [] }, gpus, ...scene };
}

function ruleOf(scene: ResetScene): string {
  const input = resetInput(scene);
  return findLinkRule(input.gpus[0] ?? assert.fail(), input);
}

const BEHIND_SWITCH = { nvlinkPeers: known([]), hasNvSwitch: known(true) } as const;

test("findLinkRule() goes by generation, NVSwitches and Fabric Manager as nvidia-smi(1) has it", () => {
  const rules = (["Volta", "Turing", "Ampere", "Ada", "Hopper", "Blackwell", "Rubin"] as const).map(
    (name) => {
      const architecture = known(name);
      return [
        name,
        ruleOf(linked([0, 1], { architecture })),
        ruleOf(linked([0, 1], { architecture, ...BEHIND_SWITCH }, { facts: MANAGED })),
        ruleOf(linked([0, 1], { architecture, ...BEHIND_SWITCH })),
      ];
    },
  );
  assert.deepEqual(rules, [
    ["Volta", "together", "together", "together"],
    ["Turing", "together", "together", "together"],
    ["Ampere", "alone", "alone", "together"],
    ["Ada", "alone", "alone", "together"],
    ["Hopper", "alone", "alone", "alone"],
    ["Blackwell", "alone", "alone", "alone"],
    ["Rubin", "alone", "alone", "alone"],
  ]);
});

test("findLinkRule() does not know where links, generation or services were not read, and needs none without links", () => {
  const failed = absent("failed");
  assert.equal(ruleOf(linked([0, 1], { architecture: failed })), "unknown");
  assert.equal(ruleOf(linked([0], { architecture: known("Volta"), nvlinkPeers: failed })), "unknown");
  const ampere = { architecture: known("Ampere"), ...BEHIND_SWITCH };
  assert.equal(ruleOf(linked([0], ampere, { facts: { services: failed } })), "unknown");
  const unsupported = absent("not-supported");
  assert.equal(
    ruleOf(linked([0], { architecture: failed, nvlinkPeers: unsupported, hasNvSwitch: unsupported })),
    "alone",
  );
});

test("findLinkBlockers() names the linked GPUs that were left out, over all links", () => {
  const chain = {
    machine: { gpus: [{}, {}, {}, {}], processes: [] },
    gpus: {
      0: { has: { architecture: known("Volta"), nvlinkPeers: known([ADDRESSES[1] ?? assert.fail()]) } },
      1: { has: { architecture: known("Volta"), nvlinkPeers: known([ADDRESSES[2] ?? assert.fail()]) } },
    },
  };
  assert.deepEqual(findLinkBlockers(resetInput(chain)), [{
    gpu: uuidOf(0),
    kind: "nvlink-peer",
    who: "GPU 1-2",
    why: "is linked to it by NVLink: nvidia-smi resets them only in one command",
    remedy: "name them all, once they are free: gpuctl reset-gpu 0 1 2",
    clearedBy: "nobody",
  }]);
});

test("findLinkBlockers() takes every GPU behind the NVSwitches for a peer", () => {
  const has = { architecture: known("Ampere"), ...BEHIND_SWITCH };
  const [found] = findLinkBlockers(resetInput(linked([0, 1, 3], has)));
  assert.equal(found?.who, "GPU 1,3");
});

test("findLinkBlockers() wants a reboot where a linked GPU cannot be read, and only warns where little is known", () => {
  const stranger = parseBusId("0000:ff:00.0");
  const has = { architecture: known("Volta"), nvlinkPeers: known([stranger]) };
  const [found] = findLinkBlockers(resetInput({ gpus: { 0: { has } } }));
  assert.deepEqual([found?.who, found?.remedy, found?.clearedBy], [
    "the GPU at 00000000:ff:00.0, which cannot be read",
    "reboot",
    "nobody",
  ]);
  const dark = { architecture: absent("failed"), nvlinkPeers: absent("failed") };
  assert.deepEqual(
    findLinkBlockers(resetInput({ gpus: { 0: { has: dark } } })).map(({ clearedBy }) => clearedBy),
    [
      "warning",
    ],
  );
});

test("groupForReset() puts linked GPUs into one command and all others into one each", () => {
  const scene = linked([1, 3], { architecture: known("Volta") }, { chosen: [0, 1, 2, 3] });
  const groups = groupForReset(resetInput(scene)).map((group) => group.map(({ index }) => index));
  assert.deepEqual(groups, [[0], [1, 3], [2]]);
});

test("findLinkBlockers() and groupForReset() keep a link of which only one end knows", () => {
  const scene = (chosen: readonly number[]): ResetScene => ({
    machine: { gpus: [{}, {}], processes: [] },
    gpus: {
      0: { has: { architecture: known("Volta") } },
      1: { has: { architecture: known("Volta"), nvlinkPeers: known(ADDRESSES.slice(0, 1)) } },
    },
    chosen,
  });
  assert.deepEqual(findLinkBlockers(resetInput(scene([0]))).map(({ who }) => who), ["GPU 1"]);
  const groups = groupForReset(resetInput(scene([0, 1]))).map((group) => group.map(({ index }) => index));
  assert.deepEqual(groups, [[0, 1]]);
});
