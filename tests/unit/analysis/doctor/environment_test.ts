import assert from "node:assert/strict";
import { test } from "node:test";
import { pid } from "../../../../lib/core/ids.ts";
import { absent, known } from "../../../../lib/core/reading.ts";
import { type DoctorScene, judgeCheck } from "../../../support/doctor_scene.ts";
import type { MachineSpec } from "../../../support/machine.ts";

const ID = "environment.visible-devices";
const CORRECT =
  "set CUDA_VISIBLE_DEVICES to GPUs that there are, or unset it to see all; gpuctl snapshot lists them";
const TWO: MachineSpec = { processes: [], gpus: [{}, {}] };

function ofProcess(value: string, isContained: boolean): DoctorScene {
  const environment = known(new Map([["CUDA_VISIBLE_DEVICES", value]]));
  return {
    spec: TWO,
    facts: { processes: known([{ pid: pid(812), environment, isContained: known(isContained) }]) },
  };
}

test("environment.visible-devices says entry by entry what a list gives", () => {
  assert.deepEqual(judgeCheck(ID, { spec: TWO, shell: { CUDA_VISIBLE_DEVICES: "1" } }), {
    status: "ok",
    evidence: [
      'this shell: CUDA_VISIBLE_DEVICES is "1"',
      '"1" names GPU 1',
      "The process gets GPU 1 as its device 0",
    ],
  });
  assert.deepEqual(judgeCheck(ID, { spec: TWO, shell: { CUDA_VISIBLE_DEVICES: "0,7" } }), {
    status: "finding",
    evidence: [
      'this shell: CUDA_VISIBLE_DEVICES is "0,7"',
      '"0" names GPU 0',
      'The list ends at "7", and what follows is not read: this machine has 2 GPUs, counted from 0',
      "The process gets GPU 0 as its device 0",
    ],
    fix: CORRECT,
  });
});

test("environment.visible-devices knows what hides every GPU without knowing the GPUs", () => {
  for (const value of ["", "-1", "NoDevFiles"]) {
    const shell = { CUDA_VISIBLE_DEVICES: value };
    assert.deepEqual(judgeCheck(ID, { shell, facts: { look: absent("timed-out") } }), {
      status: "finding",
      evidence: [`this shell: CUDA_VISIBLE_DEVICES is "${value}"`, "that hides every GPU"],
      fix: CORRECT,
    });
  }
});

test("environment.visible-devices is unknown where a list cannot be held against GPUs", () => {
  const look = absent("timed-out", "no answer within 5 s");
  assert.deepEqual(judgeCheck(ID, { shell: { CUDA_VISIBLE_DEVICES: "1" }, facts: { look } }), {
    status: "unknown",
    evidence: [
      'this shell: CUDA_VISIBLE_DEVICES is "1"',
      "which GPUs there are is not known: no answer in time (no answer within 5 s)",
    ],
    fix: "give it more time, such as --deadline 30s; if it stays, look into the kernel log: sudo dmesg",
  });
});

test("environment.visible-devices wants an order for numbers of different models", () => {
  const verdict = judgeCheck(ID, {
    spec: TWO,
    gpus: { 1: { name: known("NVIDIA L4") } },
    shell: { CUDA_VISIBLE_DEVICES: "1" },
  });
  assert.equal(verdict.status, "finding");
  assert.equal(verdict.fix, "set CUDA_DEVICE_ORDER=PCI_BUS_ID: then numbers are those of nvidia-smi");
  const wrong = judgeCheck(ID, { spec: TWO, shell: { CUDA_DEVICE_ORDER: "pci_bus_id" } });
  assert.equal(wrong.status, "finding");
  assert.equal(wrong.fix, "set CUDA_DEVICE_ORDER to PCI_BUS_ID, or unset it");
});

test("environment.visible-devices judges a process by its own variables, and not those of a container", () => {
  assert.deepEqual(judgeCheck(ID, ofProcess("7", false)), {
    status: "finding",
    evidence: [
      'PID 812: CUDA_VISIBLE_DEVICES is "7"',
      'The list ends at "7", and what follows is not read: this machine has 2 GPUs, counted from 0',
      "The process gets no GPU",
      "this shell: CUDA_VISIBLE_DEVICES is not set, so CUDA shows every GPU",
    ],
    fix: CORRECT,
  });
  assert.deepEqual(judgeCheck(ID, ofProcess("7", true)), {
    status: "unknown",
    evidence: [
      'PID 812: CUDA_VISIBLE_DEVICES is "7"',
      "PID 812 runs in a container, which counts its own GPUs",
      "this shell: CUDA_VISIBLE_DEVICES is not set, so CUDA shows every GPU",
    ],
    fix: "run gpuctl doctor in that container",
  });
});

test("environment.visible-devices says that a container's variable and sudo are not what CUDA sees", () => {
  const shell = { NVIDIA_VISIBLE_DEVICES: "1", SUDO_USER: "alice" };
  assert.deepEqual(judgeCheck(ID, { shell }), {
    status: "ok",
    evidence: [
      "this shell: CUDA_VISIBLE_DEVICES is not set, so CUDA shows every GPU",
      'this shell: NVIDIA_VISIBLE_DEVICES is "1": it is for the container runtime, and CUDA does not read it',
      "sudo passes few variables on: those of your own shell may differ",
    ],
  });
});
