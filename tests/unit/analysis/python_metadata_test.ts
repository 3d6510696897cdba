import assert from "node:assert/strict";
import { test } from "node:test";
import {
  findDistribution,
  parseNvidiaPins,
  parseTensorflowBuild,
  parseTorchVersion,
} from "../../../lib/analysis/python_metadata.ts";
import { absent, known } from "../../../lib/core/reading.ts";

const TORCH = [
  "from typing import Optional",
  "",
  "__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip']",
  "__version__ = '2.5.1+cu124'",
  "debug = False",
  "cuda: Optional[str] = '12.4'",
  "git_version = 'a8d6afb511a69687bbb2b7e88a3cf67917e1697e'",
  "hip: Optional[str] = None",
].join("\n");

test("findDistribution() reads the name of a metadata folder and of nothing else", () => {
  const cases: readonly (readonly [string, unknown])[] = [
    ["torch-2.5.1+cu124.dist-info", { name: "torch", version: "2.5.1+cu124" }],
    ["jax_cuda12_plugin-0.4.35.dist-info", { name: "jax_cuda12_plugin", version: "0.4.35" }],
    ["nvidia-cudnn.cu12-9.1.0.70.dist-info", { name: "nvidia_cudnn_cu12", version: "9.1.0.70" }],
    ["torch-1.13.0-py3.10.egg-info", { name: "torch", version: "1.13.0" }],
    ["torch-2.5.1.dist-info.bak", undefined],
    ["torch-\x1b[2J.dist-info", undefined],
    ["torch", undefined],
    ["-1.dist-info", undefined],
    ["a\n-1.dist-info", undefined],
  ];
  for (const [name, expected] of cases) assert.deepEqual(findDistribution(name), expected, name);
});

test("parseTorchVersion() reads the CUDA that torch was built for, with and without types", () => {
  assert.deepEqual(parseTorchVersion(TORCH), {
    version: known("2.5.1+cu124"),
    target: known({ kind: "cuda", version: "12.4" }),
  });
  assert.deepEqual(
    parseTorchVersion("__version__ = '1.4.0'\ncuda = '10.1'\n").target,
    known({ kind: "cuda", version: "10.1" }),
  );
  assert.deepEqual(parseTorchVersion("cuda = None\nhip = None\n").target, known({ kind: "cpu" }));
  assert.deepEqual(parseTorchVersion("cuda = None\nhip = '6.0'\n").target, known({ kind: "rocm" }));
  assert.deepEqual(
    parseTorchVersion('cuda: Optional[str] = "11.8"\n').target,
    known({ kind: "cuda", version: "11.8" }),
  );
});

test("parseTorchVersion() takes nothing from a file that is not as it should be", () => {
  const untold = absent("not-reported", "version.py does not tell of cuda");
  assert.deepEqual(parseTorchVersion(""), {
    version: absent("not-reported", "version.py names no version"),
    target: untold,
  });
  assert.deepEqual(parseTorchVersion("  cuda = '12.4'\n").target, untold);
  assert.deepEqual(parseTorchVersion("xcuda = '12.4'\n").target, untold);
  assert.deepEqual(
    parseTorchVersion("cuda = '12.4'\ncuda = '11.8'\n").target,
    absent("implausible", "version.py sets cuda to several things"),
  );
  for (const value of ["latest", "12", "12.4; rm -rf /", "\x1b[2J", ""]) {
    assert.deepEqual(
      parseTorchVersion(`cuda = '${value}'\n`).target,
      absent("implausible", "version.py names no version of CUDA that there can be"),
    );
  }
});

test("parseTensorflowBuild() reads the pairs of build_info.py", () => {
  const text =
    "build_info = collections.OrderedDict([('cpu_compiler', 'clang'), ('cuda_compute_capabilities', " +
    "['sm_60', 'sm_70', 'compute_90']), ('cuda_version', '12.5.1'), ('cudnn_version', '9'), ('is_cuda_build', True), " +
    "('is_rocm_build', False)])\n";
  assert.deepEqual(parseTensorflowBuild(text), {
    target: known({ kind: "cuda", version: "12.5" }),
    architectures: known(["sm_60", "sm_70", "compute_90"]),
  });
  const none = absent("not-reported", "build_info.py names no architectures");
  assert.deepEqual(parseTensorflowBuild("([('is_cuda_build', False), ('is_rocm_build', False)])"), {
    target: known({ kind: "cpu" }),
    architectures: none,
  });
  assert.deepEqual(
    parseTensorflowBuild("([('is_cuda_build', True), ('cuda_version', '64_112')])").target,
    absent("implausible", "build_info.py names no version of CUDA that there can be"),
  );
  assert.deepEqual(parseTensorflowBuild("import os"), {
    target: absent("not-reported", "build_info.py does not tell of CUDA"),
    architectures: none,
  });
});

test("parseNvidiaPins() reads exact requirements on NVIDIA's packages in the header, and none of an extra", () => {
  const metadata = [
    "Metadata-Version: 2.1",
    'Requires-Dist: nvidia-cuda-runtime-cu12==12.4.127; platform_system == "Linux"',
    "Requires-Dist: nvidia-cudnn-cu12 (==9.1.0.70)",
    "Requires-Dist: nvidia-nccl-cu12>=2.21",
    'Requires-Dist: nvidia-nvtx-cu12==12.4.127; extra == "all"',
    "Requires-Dist: numpy==1.26",
    "",
    "Requires-Dist: nvidia-cufft-cu12==1.2.3",
  ].join("\n");
  assert.deepEqual(parseNvidiaPins(metadata), [
    { name: "nvidia_cuda_runtime_cu12", version: "12.4.127" },
    { name: "nvidia_cudnn_cu12", version: "9.1.0.70" },
  ]);
});
