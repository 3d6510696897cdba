/** No check says `ok` while something that it rests on is not known. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { CHECKS } from "../../../lib/analysis/doctor/checks.ts";
import type { FactName } from "../../../lib/analysis/doctor/facts.ts";
import { type Absent, absent, known, WHYS } from "../../../lib/core/reading.ts";
import type { CheckId } from "../../../lib/model/doctor.ts";
import type { DriverFiles } from "../../../lib/model/doctor_facts.ts";
import type { Gpu } from "../../../lib/model/gpu.ts";
import type { GpuHealth } from "../../../lib/model/gpu_health.ts";
import type { ResetFacts } from "../../../lib/model/reset_facts.ts";
import {
  doctorFacts,
  type DoctorScene,
  interpreter,
  judgeCheck,
  NODES,
  TORCH,
} from "../../support/doctor_scene.ts";
import { service } from "../../support/reset_scene.ts";

/** A scene in which one thing is missing, for this reason. */
type Without = (why: Absent) => DoctorScene;

const driver = (change: (why: Absent) => Partial<DriverFiles>): Without => (why) => ({ driver: change(why) });
const gpu = (change: (why: Absent) => Partial<Gpu>): Without => (why) => ({ gpus: { 0: change(why) } });
const machine = (change: (why: Absent) => Partial<ResetFacts>): Without => (why) => ({
  machine: change(why),
});
const fact = (name: FactName): Without => (why) => ({ facts: { [name]: why } });
const NO_LIST: Without = (reason) => ({ gpus: { 0: { processList: { state: "unknown", reason } } } });
const NO_REPORT: Without = (report) => ({ observation: { report } });
const NO_SCAN: Without = (scan) => ({ observation: { scan } });
const UNREADABLE: Without = (reason) => ({ unreadable: [{ index: doctorGpu(), reason }] });
const LOADED = driver((isLoaded) => ({ isLoaded }));
const LOOK = [fact("look"), NO_REPORT];
const FABRIC: Partial<GpuHealth> = {
  hasNvSwitch: known(true),
  fabric: known({ state: "completed", status: 0 }),
};

/** What each check rests on. */
const RESTS_ON: Readonly<Record<CheckId, { readonly on: readonly Without[] }>> = {
  "driver.module-loaded": {
    on: [fact("driver"), LOADED, driver((moduleVersion) => ({ moduleVersion }))],
  },
  "driver.versions-agree": {
    on: [
      fact("driver"),
      LOADED,
      driver((moduleVersion) => ({ moduleVersion })),
      driver((managementLibraries) => ({ managementLibraries })),
      driver((cudaLibraries) => ({ cudaLibraries })),
      driver((version) => ({ managementLibraries: known([{ path: "/x", version }]) })),
    ],
  },
  "library.loadable": {
    on: [
      fact("driver"),
      LOADED,
      driver((managementLibraries) => ({ managementLibraries })),
      driver((cudaLibraries) => ({ cudaLibraries })),
    ],
  },
  "driver.answers": {
    on: [...LOOK, UNREADABLE],
  },
  "devices.permissions": {
    on: [
      fact("driver"),
      LOADED,
      fact("standing"),
      driver((nodes) => ({ nodes })),
      driver((kernelGpus) => ({ kernelGpus })),
      driver((access) => ({ nodes: known(NODES.map((node) => ({ ...node, access }))) })),
      driver((isCurrent) => ({ nodes: known(NODES.map((node) => ({ ...node, isCurrent }))) })),
    ],
  },
  "namespace.pid": {
    on: [
      fact("standing"),
      (isInitialPidNamespace) => ({
        facts: { standing: known({ isRoot: true, mayTrace: true, isInitialPidNamespace }) },
      }),
      (hiding) => ({
        facts: {
          standing: known({ isRoot: true, mayTrace: true, isInitialPidNamespace: known(true), hiding }),
        },
      }),
    ],
  },
  persistence: { on: [...LOOK, UNREADABLE, gpu((persistenceMode) => ({ persistenceMode }))] },
  "memory.holders-left-behind": { on: [...LOOK, UNREADABLE, NO_LIST, NO_SCAN] },
  "memory.ghosts": { on: [...LOOK, UNREADABLE, NO_LIST, NO_SCAN] },
  "memory.unattributed": { on: [...LOOK, UNREADABLE, NO_LIST, gpu((memoryUsed) => ({ memoryUsed }))] },
  "reset.needed": {
    on: [
      ...LOOK,
      UNREADABLE,
      NO_LIST,
      gpu((recoveryAction) => ({ recoveryAction })),
      gpu((memoryUsed) => ({ memoryUsed })),
    ],
  },
  "xid.history": { on: [fact("machine"), machine((kernelLog) => ({ kernelLog }))] },
  "compute-mode": { on: [...LOOK, UNREADABLE, gpu((computeMode) => ({ computeMode }))] },
  mps: { on: [fact("mps")] },
  mig: { on: [...LOOK, UNREADABLE, gpu((migMode) => ({ migMode }))] },
  "fabric-manager": {
    on: [
      ...LOOK,
      (hasNvSwitch) => ({ gpus: { 0: { has: { hasNvSwitch } } } }),
      (fabric) => ({
        gpus: {
          0: { has: { ...FABRIC, fabric: fabric.why === "not-supported" ? absent("failed") : fabric } },
        },
      }),
    ],
  },
  "container.toolkit": { on: [fact("driver"), LOADED, fact("machine"), fact("containers")] },
  "container.cgroup-devices": {
    on: [
      fact("driver"),
      LOADED,
      driver((nodes) => ({ nodes })),
      driver((access) => ({ nodes: known(NODES.map((node) => ({ ...node, access }))) })),
    ],
  },
  "environment.visible-devices": {
    on: [
      fact("shell"),
      fact("processes"),
      (look) => ({ facts: { look }, shell: { CUDA_VISIBLE_DEVICES: "0" } }),
      (report) => ({ observation: { report }, shell: { CUDA_VISIBLE_DEVICES: "0" } }),
    ],
  },
  "framework.torch": {
    on: [
      fact("driver"),
      fact("python"),
      LOADED,
      driver((moduleVersion) => ({ moduleVersion })),
      (target) => ({ facts: { python: known([interpreter({ ...TORCH, target })]) } }),
      (builds) => ({ facts: { python: known([{ ...interpreter(), builds }]) } }),
    ],
  },
  "framework.tensorflow": { on: [fact("python")] },
  "framework.jax": { on: [fact("python")] },
  "framework.cupy": { on: [fact("python")] },
};

function doctorGpu() {
  const { look } = doctorFacts();
  const [gpu] = look.ok && look.value.observation.report.ok ? look.value.observation.report.value.gpus : [];
  return gpu?.index ?? assert.fail("the scene has a GPU");
}

const anyReason = fc.record({
  why: fc.constantFrom(...WHYS),
  detail: fc.option(fc.string({ maxLength: 40 }), { nil: undefined }),
}).map(({ why, detail }) => absent(why, detail));

for (const { id } of CHECKS) {
  test(`${id} is never ok while something that it rests on is not known`, () => {
    fc.assert(fc.property(fc.constantFrom(...RESTS_ON[id].on), anyReason, (without, why) => {
      assert.notEqual(judgeCheck(id, without(why)).status, "ok");
    }));
  });
}

test("every check says something of any machine, with a fix for each finding", () => {
  const scenes = fc.record({
    without: fc.constantFrom(...Object.values(RESTS_ON).flatMap(({ on }) => on)),
    why: anyReason,
    lost: fc.subarray<FactName>([
      "driver",
      "standing",
      "machine",
      "services",
      "look",
      "containers",
      "mps",
      "shell",
      "python",
    ]),
    managed: fc.boolean(),
  });
  fc.assert(fc.property(scenes, ({ without, why, lost, managed }) => {
    const services = known(managed ? [service("nvidia-fabricmanager.service", "fabric-manager")] : []);
    const scene = without(why);
    const facts = doctorFacts({ ...scene, facts: { services, ...scene.facts } });
    const left = { ...facts, ...Object.fromEntries(lost.map((name) => [name, why])) };
    for (const check of CHECKS) {
      const { status, evidence, fix } = check.judge(left);
      assert.ok(evidence.length > 0 && evidence.every((sentence) => sentence !== ""), check.id);
      assert.equal(status === "finding" && fix === undefined, false, check.id);
      assert.equal(status === "ok" && check.reads.every((name) => lost.includes(name)), false, check.id);
    }
  }));
});
