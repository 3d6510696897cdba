import assert from "node:assert/strict";
import { test } from "node:test";
import {
  findFrameworkBuilds,
  listTellingFiles,
  type PythonSite,
} from "../../../lib/analysis/framework_builds.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import type { FrameworkBuild } from "../../../lib/model/python_packages.ts";

const NOT_TOLD = absent("not-reported", "its files do not name the architectures");

function site(names: readonly string[], texts: Readonly<Record<string, string>> = {}): PythonSite {
  return {
    path: "/site",
    names,
    texts: new Map(Object.entries(texts).map(([name, text]) => [name, known(text)])),
  };
}

function folders(...names: readonly string[]): string[] {
  return names.map((name) => `${name}.dist-info`);
}

test("listTellingFiles() names the files that tell of a build, of what is there", () => {
  assert.deepEqual(
    listTellingFiles(["torch", "torch-2.5.1.dist-info", "torchvision-0.20.dist-info", "numpy"]),
    [
      "torch/version.py",
      "torch-2.5.1.dist-info/METADATA",
    ],
  );
  assert.deepEqual(listTellingFiles(["tensorflow"]), ["tensorflow/python/platform/build_info.py"]);
  assert.deepEqual(listTellingFiles(["numpy"]), []);
});

test("findFrameworkBuilds() takes torch from its own file, and sees that others replaced what it needs", () => {
  const found = findFrameworkBuilds([
    site(["torch", ...folders("torch-2.5.1", "nvidia_cudnn_cu12-9.5.0", "nvidia_nccl_cu12-2.21.5")], {
      "torch/version.py": "__version__ = '2.5.1+cu124'\ncuda = '12.4'\nhip = None\n",
      "torch-2.5.1.dist-info/METADATA":
        "Name: torch\nRequires-Dist: nvidia-cudnn-cu12==9.1.0.70\nRequires-Dist: nvidia-nccl-cu12==2.21.5\n",
    }),
  ]);
  assert.deepEqual(found, [{
    framework: "torch",
    distribution: "torch",
    version: known("2.5.1+cu124"),
    target: known({ kind: "cuda", version: "12.4" }),
    toldBy: "/site/torch/version.py",
    architectures: NOT_TOLD,
    conflicts: ["torch was made for nvidia_cudnn_cu12 9.1.0.70, and 9.5.0 is installed"],
  }]);
});

test("findFrameworkBuilds() takes the first directory that has a framework, as Python does", () => {
  const texts = (cuda: string) => ({ "torch/version.py": `cuda = '${cuda}'\n` });
  const found = findFrameworkBuilds([
    site(["numpy"]),
    site(["torch"], texts("11.8")),
    site(["torch"], texts("12.4")),
  ]);
  assert.deepEqual(found.map(({ target }) => target), [known({ kind: "cuda", version: "11.8" })]);
});

test("findFrameworkBuilds() takes the version of a distribution from the first directory too", () => {
  const found = findFrameworkBuilds([site(folders("jax-0.6.0", "jaxlib-0.6.0")), site(folders("jax-0.4.1"))]);
  assert.deepEqual(found.map(({ version }) => version), [known("0.6.0")]);
});

test("findFrameworkBuilds() names tensorflow by the distribution that it came in", () => {
  const found = findFrameworkBuilds([
    site(["tensorflow", ...folders("tensorflow_cpu-2.17.0")], {
      "tensorflow/python/platform/build_info.py": "([('is_cuda_build', False)])",
    }),
  ]);
  assert.deepEqual(found, [{
    framework: "tensorflow",
    distribution: "tensorflow-cpu",
    version: known("2.17.0"),
    target: known({ kind: "cpu" }),
    toldBy: "/site/tensorflow/python/platform/build_info.py",
    architectures: absent("not-reported", "build_info.py names no architectures"),
    conflicts: [],
  }]);
});

test("findFrameworkBuilds() reads jax by its plugin, an old jaxlib by its version, and neither as for the processor", () => {
  const jaxOf = (...names: readonly string[]): FrameworkBuild | undefined =>
    findFrameworkBuilds([site(folders(...names))])[0];
  const plugin = jaxOf("jax-0.5.0", "jaxlib-0.5.0", "jax_cuda12_plugin-0.5.1", "jax_cuda12_pjrt-0.5.1");
  assert.deepEqual([plugin?.target, plugin?.toldBy, plugin?.conflicts], [
    known({ kind: "cuda", version: "12" }),
    "the package jax_cuda12_plugin 0.5.1",
    [],
  ]);
  assert.deepEqual(
    jaxOf("jax-0.4.20", "jaxlib-0.4.20+cuda12.cudnn89")?.target,
    known({ kind: "cuda", version: "12" }),
  );
  assert.deepEqual(jaxOf("jax-0.5.0", "jaxlib-0.5.0")?.target, known({ kind: "cpu" }));
  assert.deepEqual(jaxOf("jax-0.5.0")?.target, absent("not-reported", "jaxlib is not installed"));
  assert.deepEqual(
    jaxOf("jax-0.5.0", "jaxlib-0.5.0", "jax_rocm60_plugin-0.5.0")?.target,
    known({ kind: "rocm" }),
  );
  assert.deepEqual(
    jaxOf("jax-0.6.0", "jaxlib-0.6.0", "jax_cuda12_plugin-0.5.1", "jax_cuda13_plugin-0.6.0")?.conflicts,
    [
      "several plugins of jax are installed: jax_cuda12_plugin, jax_cuda13_plugin",
      "jax_cuda12_plugin 0.5.1 does not fit jaxlib 0.6.0: jax leaves such a plugin out",
    ],
  );
});

test("findFrameworkBuilds() reads cupy by the name of its package, and warns of two", () => {
  const cupyOf = (...names: readonly string[]) =>
    findFrameworkBuilds([site(folders(...names))]).map((
      { distribution, target, conflicts },
    ) => [distribution, target, conflicts]);
  assert.deepEqual(cupyOf("cupy_cuda12x-13.3.0"), [[
    "cupy-cuda12x",
    known({ kind: "cuda", version: "12" }),
    [],
  ]]);
  assert.deepEqual(cupyOf("cupy_cuda117-10.6.0"), [[
    "cupy-cuda117",
    known({ kind: "cuda", version: "11.7" }),
    [],
  ]]);
  assert.deepEqual(cupyOf("cupy-13.3.0"), [[
    "cupy",
    absent("not-reported", "it was compiled where it is installed, for the CUDA that was there"),
    [],
  ]]);
  const both = ["several packages of cupy are installed, and spoil each other: cupy_cuda11x, cupy_cuda12x"];
  assert.deepEqual(cupyOf("cupy_cuda11x-13.3.0", "cupy_cuda12x-13.3.0").map(([, , conflicts]) => conflicts), [
    both,
    both,
  ]);
});
