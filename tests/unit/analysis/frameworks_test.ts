import assert from "node:assert/strict";
import { test } from "node:test";
import { findFramework } from "../../../lib/analysis/frameworks.ts";

const SITE = "/opt/venv/lib/python3.12/site-packages";

test("findFramework() knows a framework by the libraries that only it brings", () => {
  const cases = [
    [`${SITE}/jaxlib/libjax_common.so`, "JAX"],
    [`${SITE}/jax_plugins/xla_cuda12/xla_cuda_plugin.so`, "JAX"],
    [`${SITE}/tensorflow/libtensorflow_cc.so.2`, "TensorFlow"],
    [`${SITE}/torch/lib/libtorch_cuda.so`, "PyTorch"],
    [`${SITE}/nvidia/cublas/lib/libcublas.so.12`, undefined],
    ["/home/torch/train.so", undefined],
  ] as const;

  for (const [file, framework] of cases) {
    assert.equal(findFramework(["/usr/bin/python3.12", file]), framework, file);
  }
});
