import { test } from "node:test";
import assert from "node:assert/strict";
import { absent, known } from "../../../lib/core/reading.ts";
import { parseEnviron } from "../../../lib/proc/environ.ts";

test("parseEnviron() keeps what bears on GPUs and ownership, and nothing that may be a secret", () => {
  const text = [
    "PATH=/bin",
    "CUDA_VISIBLE_DEVICES=",
    "NVIDIA_API_KEY=nvapi-1",
    "SLURM_JWT=eyJ",
    "SLURM_JOB_ID=7",
    "TF_VAR_password=x",
    "TF_FORCE_GPU_ALLOW_GROWTH=true",
    "LOCAL_RANK=3",
    "LOCAL_RANK=4",
    "MY_LOCAL_RANK=5",
    "KUBERNETES_SERVICE_HOST=10.0.0.1",
    "",
  ].join("\0");
  assert.deepEqual(
    parseEnviron(text),
    known(
      new Map([
        ["CUDA_VISIBLE_DEVICES", ""],
        ["SLURM_JOB_ID", "7"],
        ["TF_FORCE_GPU_ALLOW_GROWTH", "true"],
        ["LOCAL_RANK", "3"],
        ["KUBERNETES_SERVICE_HOST", "10.0.0.1"],
      ]),
    ),
  );
});

test("parseEnviron() keeps a value whole, with its equals signs and newlines", () => {
  assert.deepEqual(
    parseEnviron("XLA_FLAGS=--a=1 --b=2\nc\0"),
    known(new Map([["XLA_FLAGS", "--a=1 --b=2\nc"]])),
  );
});

test("parseEnviron() says that an environment was written over, in whole or in part", () => {
  assert.deepEqual(parseEnviron("\0\0\0\0"), absent("erased"));
  assert.deepEqual(parseEnviron("ray::train\0\0"), absent("erased"));
  assert.deepEqual(parseEnviron("e.py\0\0\0CUDA_VISIBLE_DEVICES=1\0"), absent("erased"));
});

test("parseEnviron() knows an empty environment", () => {
  assert.deepEqual(parseEnviron(""), known(new Map()));
});
