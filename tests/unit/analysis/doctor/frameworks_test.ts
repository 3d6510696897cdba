import assert from "node:assert/strict";
import { test } from "node:test";
import { absent, known } from "../../../../lib/core/reading.ts";
import type { CheckVerdict } from "../../../../lib/model/doctor.ts";
import type { CompatLibrary, DriverFiles } from "../../../../lib/model/doctor_facts.ts";
import type { FrameworkBuild } from "../../../../lib/model/python_packages.ts";
import { type DoctorScene, interpreter, judgeCheck, TORCH } from "../../../support/doctor_scene.ts";

const FILE = "/venv/lib/python3.12/site-packages/torch/version.py";
const INSTALL = (major: number) =>
  `install a torch that was built for CUDA ${major}: pip install with PyTorch's own package index of a tag cu${major}x`;

function judgeTorch(build: Partial<FrameworkBuild>, driver: Partial<DriverFiles> = {}): CheckVerdict {
  return judgeCheck("framework.torch", sceneOf({ ...TORCH, ...build }, driver));
}

function sceneOf(build: FrameworkBuild, driver: Partial<DriverFiles> = {}): DoctorScene {
  return { driver, facts: { python: known([interpreter(build)]) } };
}

function gpuCalled(name: string): Pick<DriverFiles, "kernelGpus"> {
  return { kernelGpus: known([{ name: known(name), minor: absent("not-reported") }]) };
}

test("a framework that the driver runs is ok, and it is said how far", () => {
  assert.deepEqual(judgeTorch({}), {
    status: "ok",
    evidence: [
      `torch 2.9.0+cu130 of /venv/bin/python was built for CUDA 13.0 (${FILE})`,
      "driver 580.159.04 runs all of CUDA 13.0",
    ],
  });
  assert.deepEqual(
    judgeTorch({ target: known({ kind: "cuda", version: "13.2" }) }).evidence[1],
    "driver 580.159.04 runs CUDA 13.2 by minor version compatibility: code that is compiled at run time (PTX) may not",
  );
});

test("a framework is a finding for a driver that is too old, with the build that fits", () => {
  assert.deepEqual(judgeTorch({}, { moduleVersion: known("535.54.03") }), {
    status: "finding",
    evidence: [
      `torch 2.9.0+cu130 of /venv/bin/python was built for CUDA 13.0 (${FILE})`,
      "driver 535.54.03 is too old for CUDA 13.0: it takes 580.65.06",
      "driver 535.54.03 runs CUDA up to 12.2",
    ],
    fix: `${INSTALL(12)}; or install driver 580.65.06 or later`,
  });
});

test("a newer libcuda helps an old driver on GPUs of data centres alone, and only where the loader finds it", () => {
  const library: CompatLibrary = {
    path: "/usr/local/cuda-13.0/compat/libcuda.so.1",
    version: known("580.65.06"),
    isOnLibraryPath: true,
  };
  const old = { moduleVersion: known("535.54.03"), compatLibraries: known([library]) };
  assert.deepEqual(judgeTorch({}, old), {
    status: "unknown",
    evidence: [
      `torch 2.9.0+cu130 of /venv/bin/python was built for CUDA 13.0 (${FILE})`,
      "driver 535.54.03 is too old for CUDA 13.0: it takes 580.65.06",
      "driver 535.54.03 runs CUDA up to 12.2",
      "/usr/local/cuda-13.0/compat/libcuda.so.1 is on LD_LIBRARY_PATH and new enough: forward compatibility works on " +
      "these GPUs if NVIDIA's table has this pair of branches",
    ],
    fix: "try it; CUDA error 803 or 804 means that it does not work here",
  });
  const consumer = judgeTorch({}, { ...old, ...gpuCalled("NVIDIA GeForce RTX 4090") });
  assert.equal(consumer.status, "finding");
  assert.equal(
    consumer.evidence[3],
    "/usr/local/cuda-13.0/compat/libcuda.so.1 does not help: it works on GPUs of data centres alone",
  );
  const idle = judgeTorch({}, { ...old, compatLibraries: known([{ ...library, isOnLibraryPath: false }]) });
  assert.equal(idle.status, "finding");
  assert.equal(
    idle.evidence[3],
    "/usr/local/cuda-13.0/compat/libcuda.so.1 is there, and not on LD_LIBRARY_PATH: it may help on GPUs of data centres",
  );
});

test("a framework is a finding where it has no code for a GPU", () => {
  const cu124 = { target: known({ kind: "cuda", version: "12.4" } as const) };
  assert.deepEqual(judgeTorch(cu124, gpuCalled("NVIDIA GeForce RTX 5090")).evidence.slice(0, 1), [
    `torch 2.9.0+cu130 of /venv/bin/python was built for CUDA 12.4 (${FILE})`,
  ]);
  assert.deepEqual(
    judgeTorch(cu124, gpuCalled("NVIDIA GeForce RTX 5090")).evidence[1],
    "it has no code for NVIDIA GeForce RTX 5090: GPUs of compute capability 12.0 need CUDA 12.8 or later",
  );
  const volta = judgeTorch({}, gpuCalled("Tesla V100-SXM2-32GB"));
  assert.deepEqual([volta.status, volta.evidence[1], volta.fix], [
    "finding",
    "it has no code for Tesla V100-SXM2-32GB: CUDA 13 no longer knows GPUs below compute capability 7.5",
    "install a build for an earlier CUDA, which still knows this GPU",
  ]);
  const listed = judgeTorch({ architectures: known(["sm_80", "sm_86"]) });
  assert.deepEqual([listed.status, listed.evidence[1]], [
    "finding",
    "it has no code for NVIDIA H200: it has code for sm_80, sm_86 alone",
  ]);
  assert.deepEqual(
    judgeTorch({ architectures: known(["sm_80", "compute_80"]) }).evidence[2],
    "it has code for NVIDIA H200 (compute capability 9.0)",
  );
});

test("a build for the processor, or for other GPUs, is a finding on a machine with a driver", () => {
  assert.deepEqual(judgeTorch({ target: known({ kind: "cpu" }) }), {
    status: "finding",
    evidence: [
      `torch 2.9.0+cu130 of /venv/bin/python was built for the processor alone (${FILE})`,
      "it never uses a GPU, and does not say so",
    ],
    fix: INSTALL(13),
  });
  assert.equal(judgeTorch({ target: known({ kind: "rocm" }) }).evidence[1], "it cannot use NVIDIA's GPUs");
});

test("parts of a framework that do not fit together are a finding, whatever the driver", () => {
  const conflicts = ["jax_cuda12_plugin 0.5.0 does not fit jaxlib 0.6.0: jax leaves such a plugin out"];
  const jax: FrameworkBuild = {
    ...TORCH,
    framework: "jax",
    distribution: "jax",
    version: known("0.6.0"),
    toldBy: "x",
    conflicts,
  };
  assert.deepEqual(judgeCheck("framework.jax", sceneOf(jax)), {
    status: "finding",
    evidence: [
      "jax 0.6.0 of /venv/bin/python was built for CUDA 13.0 (x)",
      ...conflicts,
      "driver 580.159.04 runs all of CUDA 13.0",
    ],
    fix: "install its plugin for CUDA 13: pip install 'jax[cuda13]'",
  });
});

test("a framework does not apply without a driver, an interpreter or itself, and says which", () => {
  const none = { isLoaded: known(false), moduleVersion: absent("not-supported") };
  assert.deepEqual(judgeTorch({}, none), {
    status: "skipped",
    evidence: [
      `torch 2.9.0+cu130 of /venv/bin/python was built for CUDA 13.0 (${FILE}); no NVIDIA driver is loaded that could run it`,
    ],
  });
  assert.deepEqual(judgeCheck("framework.torch", { facts: { python: known([]) } }), {
    status: "skipped",
    evidence: ["no Python interpreter was found: --python names one"],
  });
  assert.deepEqual(judgeCheck("framework.torch", { facts: { python: known([interpreter()]) } }), {
    status: "skipped",
    evidence: ["PyTorch is not installed for /venv/bin/python"],
  });
});

test("a framework whose files cannot be read, or do not tell, is unknown", () => {
  assert.deepEqual(judgeTorch({ target: absent("implausible", "version.py sets cuda to several things") }), {
    status: "unknown",
    evidence: [
      "torch 2.9.0+cu130 of /venv/bin/python does not tell what it was built for: the answer cannot be true (version.py sets cuda to several things)",
      "whether it runs with this driver is not known",
    ],
  });
  const unread = { ...interpreter(), builds: absent("no-permission", "EACCES") };
  assert.deepEqual(judgeCheck("framework.torch", { facts: { python: known([unread]) } }), {
    status: "unknown",
    evidence: ["what is installed for /venv/bin/python is not known: no permission (EACCES)"],
    fix: "run it as root: sudo gpuctl doctor",
  });
});
