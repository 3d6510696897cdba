import assert from "node:assert/strict";
import { test } from "node:test";
import { judgeIsolation } from "../../../lib/analysis/isolation.ts";
import { explainStray } from "../../../lib/analysis/isolation_cause.ts";
import { type GpuUuid, gpuUuid, pid } from "../../../lib/core/ids.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import { type CaseSpec, isolationCase, type ProcessSpec } from "./isolation_case.ts";
import { A, B, MIG_A, MIG_B, migGpu } from "./visible_devices_machine.ts";

/** Why a process of a job that may use GPU 1 has a context on GPU 0. */
function explain(process: Omit<ProcessSpec, "pid">, more: Partial<CaseSpec> = {}) {
  const { violations } = judgeIsolation(
    isolationCase({
      looks: [[{ contexts: [{ pid: 11 }] }, {}]],
      processes: [{ pid: 11, ...process }],
      ...more,
    }),
  );
  assert.equal(violations.length, 1);
  return violations.map(({ cause, explanation, fix }) => ({ cause, explanation, fix }))[0];
}

const USED = [23, 3] as const;
const VISIBLE = [7, 2] as const;
const HIDDEN = [3, 0] as const;

test("judgeIsolation() knows by what is hidden that the program has set the variable itself, in time", () => {
  assert.deepEqual(explain({ devices: { 0: USED, 1: HIDDEN } }), {
    cause: "changed-inside",
    explanation:
      "CUDA_VISIBLE_DEVICES was not set when the process started, and yet some GPUs are hidden from it: its program " +
      "has set the variable before CUDA started",
    fix: `Take the assignment out of the program. Start the job with CUDA_VISIBLE_DEVICES=${B}`,
  });
});

test("judgeIsolation() takes no GPU for hidden that is visible, was never opened, or is of a machine with MIG", () => {
  const { migInstances } = migGpu(1, B, [MIG_A]);
  assert.ok(migInstances.ok);
  const divided = [{ contexts: [{ pid: 11 }] }, { migs: migInstances.value }];

  assert.equal(explain({ devices: { 0: USED, 1: VISIBLE } })?.cause, "variable-missing");
  assert.equal(explain({ devices: { 0: USED } })?.cause, "variable-missing");
  assert.equal(explain({ devices: { 0: HIDDEN, 1: HIDDEN } })?.cause, "variable-missing");
  assert.equal(
    explain({ devices: { 0: USED, 1: HIDDEN } }, { looks: [divided] })?.cause,
    "variable-missing",
  );
});

test("judgeIsolation() tells the MIG devices of one GPU apart", () => {
  const { migInstances } = migGpu(0, A, [MIG_A, MIG_B]);
  assert.ok(migInstances.ok);
  const look = [{ contexts: [{ pid: 11, gpuInstance: 1 }], migs: migInstances.value }, {}];
  const why = (value: string) =>
    explain({ environment: { CUDA_VISIBLE_DEVICES: value } }, {
      looks: [look],
      allowed: [{ gpu: A, mig: MIG_B }],
    });
  const fix = `Start the job with CUDA_VISIBLE_DEVICES=${MIG_B}`;

  assert.deepEqual(why(MIG_A), {
    cause: "variable-names-it",
    explanation:
      `CUDA_VISIBLE_DEVICES="${MIG_A}" names this MIG device, which is not one that the job was given`,
    fix,
  });
  assert.deepEqual(why(MIG_B), {
    cause: "changed-inside",
    explanation:
      `When the process started CUDA_VISIBLE_DEVICES="${MIG_B}" did not show this MIG device; its program has set the ` +
      "variable anew before CUDA started",
    fix: "Take the assignment out of the program, and leave the variable to whoever starts it",
  });
  assert.deepEqual([why(`${MIG_A},${MIG_B}`)?.cause, why(`${MIG_A},${MIG_B}`)?.fix], ["list-cut-short", fix]);
});

test("judgeIsolation() does not blame CUDA's order for a GPU that nvidia-smi's number names too", () => {
  const look = [{ contexts: [{ pid: 11 }], name: "RTX 3090" }, { name: "T400" }];
  const named = explain({ environment: { CUDA_VISIBLE_DEVICES: "0" } }, { looks: [look] });
  assert.equal(named?.cause, "variable-names-it");
});

/** Why a rank that works on GPU 1 has a context on another GPU, where ranks work on these. */
function explainRank(
  rank: number,
  { on, others, onGpus }: {
    readonly on: number;
    readonly others: readonly GpuUuid[];
    readonly onGpus: readonly GpuUuid[];
  },
) {
  const { machine } = isolationCase({ looks: [[{}, {}, {}]] });
  const [first, second, third] = machine.gpus;
  assert.ok(first && second && third);
  const gpus = [first, second, { ...third, uuid: C }];
  const gpu = gpus[on];
  assert.ok(gpu);
  const mainGpus = new Map([[pid(11), B], ...others.map((uuid, place) => [pid(20 + place), uuid] as const)]);
  return explainStray({
    gpu,
    context: {
      pid: pid(11),
      kind: "compute",
      gpuInstance: undefined,
      peak: absent("not-asked"),
      unread: undefined,
    },
    process: {
      process: {
        pid: pid(11),
        comm: "python",
        argv: absent("not-asked"),
        environment: known(new Map([["LOCAL_RANK", String(rank)]])),
        owner: absent("not-asked"),
      },
      uses: absent("not-asked"),
    },
    worksElsewhere: true,
    onGpus,
  }, { machine: { gpus, unreadableGpus: [] }, allowed: [{ gpu: B }], mainGpus, lint: [] }).cause;
}

const C = gpuUuid("GPU-00000000-0000-4000-8000-00000000000c");

test("explainStray() takes the first GPU for one of the peers' only where a rank is on all of several", () => {
  assert.equal(explainRank(1, { on: 0, others: [A, C], onGpus: [A, B, C] }), "collective");
  assert.equal(explainRank(1, { on: 0, others: [A, C], onGpus: [A, B] }), "default-device");
  assert.equal(explainRank(1, { on: 0, others: [A], onGpus: [A, B] }), "default-device");
});

test("explainStray() lets rank 0 reach its peers' GPUs as any other rank does", () => {
  assert.equal(explainRank(0, { on: 2, others: [A, C], onGpus: [B, C] }), "collective");
  assert.equal(explainRank(0, { on: 2, others: [A], onGpus: [B, C] }), "variable-missing");
});
