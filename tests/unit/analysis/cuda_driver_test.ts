import assert from "node:assert/strict";
import { test } from "node:test";
import {
  findNewestCuda,
  findNewestMajor,
  findOldestDriver,
  judgeCudaSupport,
} from "../../../lib/analysis/cuda_driver.ts";
import { compareVersions, sameVersion } from "../../../lib/analysis/driver_version.ts";
import {
  findArchitectureGap,
  findComputeCapability,
  hasCodeFor,
} from "../../../lib/analysis/gpu_architecture.ts";

test("judgeCudaSupport() follows NVIDIA's tables of drivers and of minor version compatibility", () => {
  const cases: readonly (readonly [cuda: string, driver: string, support: string])[] = [
    ["12.4", "550.54.14", "full"],
    ["12.4", "535.54.03", "minor"],
    ["12.4", "525.60.13", "minor"],
    ["12.4", "525.60.12", "none"],
    ["13.0", "575.57.08", "none"],
    ["13.2", "580.65.06", "minor"],
    ["12", "525.60.13", "minor"],
    ["12", "520.61.05", "none"],
    ["11.8", "450.80.02", "minor"],
    ["10.2", "440.33.01", "full"],
    ["10.2", "430.10", "none"],
    ["14.0", "700.10", "unknown"],
    ["8.0", "580.65.06", "unknown"],
  ];
  for (const [cuda, driver, support] of cases) {
    assert.equal(judgeCudaSupport(cuda, driver), support, `${cuda} on ${driver}`);
  }
});

test("findOldestDriver(), findNewestCuda() and findNewestMajor() answer from the same tables", () => {
  assert.deepEqual(["12.4", "12", "10.2", "14.0"].map(findOldestDriver), [
    "525.60.13",
    "525.60.13",
    "440.33",
    undefined,
  ]);
  assert.deepEqual(["580.159.04", "535.183.01", "352.79"].map(findNewestCuda), ["13.0", "12.2", undefined]);
  assert.deepEqual(["580.159.04", "535.183.01", "352.79"].map(findNewestMajor), ["13", "12", undefined]);
});

test("compareVersions() and sameVersion() go part by part, as numbers", () => {
  assert.ok(compareVersions("550.54.14", "550.54.3") > 0);
  assert.ok(compareVersions("550.54", "550.54.1") < 0);
  assert.equal(compareVersions("580.65.06", "580.65.6"), 0);
  assert.equal(sameVersion("580.178", "580.178.04"), true);
  assert.equal(sameVersion("580.178", "580.173.02"), false);
  assert.equal(sameVersion("580", "580.173.02"), false);
});

test("findComputeCapability() knows GPUs by their product names, and takes none for another", () => {
  const names: Readonly<Record<string, string | undefined>> = {
    "NVIDIA H200": "9.0",
    "NVIDIA H100 80GB HBM3": "9.0",
    "NVIDIA GH200 480GB": "9.0",
    "NVIDIA A100-SXM4-80GB": "8.0",
    "NVIDIA A10": "8.6",
    "NVIDIA A10G": "8.6",
    "NVIDIA RTX A6000": "8.6",
    "NVIDIA RTX 6000 Ada Generation": "8.9",
    "NVIDIA L4": "8.9",
    "NVIDIA L40S": "8.9",
    "Tesla T4": "7.5",
    "Quadro RTX 6000": "7.5",
    "NVIDIA GeForce GTX 1650": "7.5",
    "Tesla V100-SXM2-32GB": "7.0",
    "NVIDIA TITAN V": "7.0",
    "NVIDIA TITAN Xp": "6.1",
    "NVIDIA GeForce GTX 1080 Ti": "6.1",
    "NVIDIA B200": "10.0",
    "NVIDIA GB300": "10.3",
    "NVIDIA GeForce RTX 5090": "12.0",
    "NVIDIA RTX PRO 6000 Blackwell Server Edition": "12.0",
    "NVIDIA GB10": "12.1",
    "Tesla K80": "3.7",
    "NVIDIA Something 9000": undefined,
    "": undefined,
  };
  for (const [name, capability] of Object.entries(names)) {
    assert.equal(findComputeCapability(name), capability, name);
  }
});

test("findArchitectureGap() says which toolkits have no code for a GPU, in both directions", () => {
  assert.equal(
    findArchitectureGap("12.4", "12.0"),
    "GPUs of compute capability 12.0 need CUDA 12.8 or later",
  );
  assert.equal(findArchitectureGap("12.8", "12.0"), undefined);
  assert.equal(findArchitectureGap("12", "12.0"), undefined);
  assert.equal(findArchitectureGap("11", "10.0"), "GPUs of compute capability 10.0 need CUDA 12.8 or later");
  assert.equal(findArchitectureGap("11.7", "9.0"), "GPUs of compute capability 9.0 need CUDA 11.8 or later");
  assert.equal(
    findArchitectureGap("13.0", "7.0"),
    "CUDA 13 no longer knows GPUs below compute capability 7.5",
  );
  assert.equal(findArchitectureGap("13.0", "7.5"), undefined);
  assert.equal(
    findArchitectureGap("12.4", "3.7"),
    "CUDA 12 no longer knows GPUs below compute capability 5.0",
  );
});

test("hasCodeFor() keeps compiled code to its generation, and takes intermediate code for all later ones", () => {
  assert.equal(hasCodeFor(["sm_80"], "8.6"), true);
  assert.equal(hasCodeFor(["sm_86"], "8.0"), false);
  assert.equal(hasCodeFor(["sm_80"], "9.0"), false);
  assert.equal(hasCodeFor(["compute_80"], "9.0"), true);
  assert.equal(hasCodeFor(["sm_90a"], "9.0"), true);
  assert.equal(hasCodeFor(["sm_90a"], "10.0"), false);
  assert.equal(hasCodeFor(["sm_120"], "12.0"), true);
  assert.equal(hasCodeFor(["gfx90a"], "9.0"), undefined);
});
