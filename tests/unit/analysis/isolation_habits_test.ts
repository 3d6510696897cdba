import assert from "node:assert/strict";
import { test } from "node:test";
import type { Framework } from "../../../lib/analysis/frameworks.ts";
import { judgeIsolation } from "../../../lib/analysis/isolation.ts";
import { type ContextSpec, isolationCase, type ProcessSpec } from "./isolation_case.ts";
import { A, B } from "./visible_devices_machine.ts";

interface JobSpec {
  readonly frameworks: Readonly<Record<number, Framework>>;
  /** Of the first GPU and of the second, which is the job's unless `given` says so of the first. */
  readonly contexts: readonly [readonly ContextSpec[], readonly ContextSpec[]];
  readonly given?: "first" | "second";
  readonly environment?: ProcessSpec["environment"];
}

/** What is noted of frameworks. */
function habitsOf({ frameworks, contexts, given = "second", environment }: JobSpec): readonly string[] {
  const { notes } = judgeIsolation(isolationCase({
    allowed: [{ gpu: given === "first" ? A : B }],
    looks: [contexts.map((each) => ({ contexts: each }))],
    processes: Object.keys(frameworks).map((id) => ({
      pid: Number(id),
      ...environment !== undefined && { environment },
    })),
    frameworks,
  }));
  return notes.filter((note) => /JAX|TensorFlow|PyTorch/.test(note));
}

const on = (...pids: readonly number[]): readonly ContextSpec[] => pids.map((pid) => ({ pid, mib: 552 }));

const JAX =
  "JAX, which takes a context on every GPU that it sees, also where its arrays live on one (seen with JAX 0.11), " +
  "and 75 % of the memory of each unless XLA_PYTHON_CLIENT_PREALLOCATE=false (its guide to GPU memory " +
  "allocation). Set CUDA_VISIBLE_DEVICES before the first import of jax";
const TENSORFLOW =
  "TensorFlow, which takes nearly all memory of every GPU that it sees (its guide to using a GPU). Call " +
  "tf.config.set_visible_devices before anything else of TensorFlow, or set CUDA_VISIBLE_DEVICES before the " +
  "first import of it";
const PYTORCH =
  "PyTorch, which works on the first GPU that it sees unless it is told another (its notes on CUDA semantics). " +
  "Call torch.cuda.set_device before the first tensor on a GPU";

test("judgeIsolation() explains a context on every GPU by JAX's habit, and by TensorFlow's", () => {
  assert.deepEqual(habitsOf({ frameworks: { 11: "JAX" }, contexts: [on(11), on(11)] }), [
    `PID 11 runs ${JAX}`,
  ]);
  assert.deepEqual(habitsOf({ frameworks: { 11: "TensorFlow" }, contexts: [on(11), on(11)] }), [
    `PID 11 runs ${TENSORFLOW}`,
  ]);
});

test("judgeIsolation() says a habit once for all processes that have it", () => {
  const frameworks = { 11: "JAX", 12: "JAX", 13: "TensorFlow" } as const;
  assert.deepEqual(habitsOf({ frameworks, contexts: [on(11, 12, 13), on(11, 12, 13)] }), [
    `PID 11 and 1 more run ${JAX}`,
    `PID 13 runs ${TENSORFLOW}`,
  ]);
});

test("judgeIsolation() does not say that a process takes every GPU that has a context on one", () => {
  for (const framework of ["JAX", "TensorFlow"] as const) {
    assert.deepEqual(habitsOf({ frameworks: { 11: framework }, contexts: [on(11), []] }), []);
  }
});

test("judgeIsolation() explains a context on the first GPU by PyTorch's habit where it was shown all", () => {
  const frameworks = { 11: "PyTorch" } as const;
  assert.deepEqual(habitsOf({ frameworks, contexts: [on(11), []] }), [`PID 11 runs ${PYTORCH}`]);
  assert.deepEqual(habitsOf({ frameworks, contexts: [[], on(11)], given: "first" }), []);
  const named = { CUDA_VISIBLE_DEVICES: "0" };
  assert.deepEqual(habitsOf({ frameworks, contexts: [on(11), []], environment: named }), []);
});

test("judgeIsolation() speaks of no habit where nothing is out of place, or MPS decides", () => {
  const frameworks = { 11: "JAX" } as const;
  assert.deepEqual(habitsOf({ frameworks, contexts: [[], on(11)] }), []);
  const clients = [{ pid: 11, kind: "mps-client" }] as const;
  assert.deepEqual(habitsOf({ frameworks, contexts: [clients, clients] }), []);
});
