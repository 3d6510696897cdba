import assert from "node:assert/strict";
import { test } from "node:test";
import { findGivenToContainer, findGivenToSlurmJob } from "../../../lib/analysis/given_devices.ts";
import type { Process } from "../../../lib/model/process.ts";
import { observe, type ProcessSpec, reportOf, uuidOf } from "../../support/machine.ts";

const MACHINE = reportOf({ gpus: [{}, {}, {}, {}], processes: [] });

function processes(...specs: readonly ProcessSpec[]): readonly Process[] {
  const { scan } = observe({ processes: specs });
  return scan.ok ? [...scan.value.processes.values()].filter(({ pid }) => pid > 1) : [];
}

const container = (value: string | undefined, more: Partial<ProcessSpec> = {}) =>
  findGivenToContainer(
    processes({
      pid: 100,
      namespacePids: [100, 1],
      environment: value === undefined ? {} : { NVIDIA_VISIBLE_DEVICES: value },
      ...more,
    }),
    MACHINE,
  );

const slurm = (...environments: readonly NonNullable<ProcessSpec["environment"]>[]) =>
  findGivenToSlurmJob(
    processes(...environments.map((environment, place) => ({ pid: 100 + place, environment }))),
    MACHINE,
  );

const known = (source: string, ...indexes: readonly number[]) => ({
  isKnown: true,
  devices: indexes.map((index) => ({ gpu: uuidOf(index) })),
  source,
});
const unknown = (why: string) => ({ isKnown: false, why });

test("findGivenToContainer() believes what the first process of a container was started with", () => {
  const source = (value: string) => `NVIDIA_VISIBLE_DEVICES="${value}" of its first process, PID 100`;
  assert.deepEqual(container("1,3"), known(source("1,3"), 1, 3));
  assert.deepEqual(container(uuidOf(2)), known(source(uuidOf(2)), 2));
  assert.deepEqual(container("all"), known(source("all"), 0, 1, 2, 3));
  assert.deepEqual(container("none"), known(source("none")));
});

test("findGivenToContainer() does not guess", () => {
  const first = "its first process, PID 100";
  assert.deepEqual(container(undefined), unknown(`NVIDIA_VISIBLE_DEVICES is not set in ${first}`));
  assert.deepEqual(
    container("void"),
    unknown(`NVIDIA_VISIBLE_DEVICES="void" of ${first} does not say which GPUs it was given`),
  );
  assert.deepEqual(
    container("nvidia.com/gpu=0"),
    unknown(`NVIDIA_VISIBLE_DEVICES="nvidia.com/gpu=0" of ${first} does not say which GPUs it was given`),
  );
  assert.deepEqual(
    container("0,9"),
    unknown(`NVIDIA_VISIBLE_DEVICES="0,9" of ${first} names GPUs that this machine does not show`),
  );
  assert.deepEqual(
    container("0", { environment: "erased" }),
    unknown(`the environment of ${first}, could not be read`),
  );
  assert.deepEqual(findGivenToContainer([], MACHINE), unknown("none of its processes could be read"));
});

test("findGivenToContainer() asks PID 1 inside, and the oldest where the container has the host's pids", () => {
  const variables = (value: string) => ({ environment: { NVIDIA_VISIBLE_DEVICES: value } });
  const later = { pid: 100, startTicks: 10, namespacePids: [100, 7], ...variables("all") };
  const first = { pid: 200, startTicks: 20, namespacePids: [200, 1], ...variables("2") };
  const source = (pid: number, value: string) =>
    `NVIDIA_VISIBLE_DEVICES="${value}" of its first process, PID ${pid}`;
  assert.deepEqual(findGivenToContainer(processes(later, first), MACHINE), known(source(200, "2"), 2));
  const old = { pid: 300, startTicks: 5, ...variables("3") };
  const young = { pid: 100, startTicks: 10, ...variables("all") };
  assert.deepEqual(findGivenToContainer(processes(young, old), MACHINE), known(source(300, "3"), 3));
});

test("findGivenToSlurmJob() believes the list that Slurm keeps, the job's before a step's", () => {
  assert.deepEqual(
    slurm({ SLURM_JOB_GPUS: "0,2", SLURM_STEP_GPUS: "0", CUDA_VISIBLE_DEVICES: "0" }),
    known('SLURM_JOB_GPUS="0,2" of its processes', 0, 2),
  );
  assert.deepEqual(slurm({ SLURM_STEP_GPUS: "3" }, {}), known('SLURM_STEP_GPUS="3" of its processes', 3));
});

test("findGivenToSlurmJob() takes CUDA_VISIBLE_DEVICES by UUID only: numbers may count from the job's first GPU", () => {
  assert.deepEqual(
    slurm({ CUDA_VISIBLE_DEVICES: uuidOf(1) }),
    known(`CUDA_VISIBLE_DEVICES="${uuidOf(1)}" of its processes`, 1),
  );
  assert.deepEqual(
    slurm({ CUDA_VISIBLE_DEVICES: "0" }),
    unknown('CUDA_VISIBLE_DEVICES="0" of its processes names no GPUs for sure'),
  );
});

test("findGivenToSlurmJob() does not choose between processes that say different things", () => {
  assert.deepEqual(
    slurm({ SLURM_JOB_GPUS: "0" }, { SLURM_JOB_GPUS: "0-7" }),
    unknown("its processes have several values of SLURM_JOB_GPUS"),
  );
  assert.deepEqual(
    slurm({ SLURM_JOB_GPUS: "0-3" }),
    unknown('SLURM_JOB_GPUS="0-3" of its processes names no GPUs for sure'),
  );
  assert.deepEqual(
    slurm({ SLURM_JOB_GPUS: "9" }),
    unknown('SLURM_JOB_GPUS="9" of its processes names no GPUs for sure'),
  );
  assert.deepEqual(slurm({}), unknown("none of its processes has SLURM_JOB_GPUS or SLURM_STEP_GPUS"));
  assert.deepEqual(slurm("erased"), unknown("the environment of its processes could not be read"));
});

test("findGivenToSlurmJob() takes no number where device nodes are numbered in another order", () => {
  const [first, second] = MACHINE.gpus;
  assert.ok(first && second);
  const swapped = {
    ...MACHINE,
    gpus: [{ ...first, minor: second.minor }, { ...second, minor: first.minor }],
  };
  const job = processes({ pid: 100, environment: { SLURM_JOB_GPUS: "0" } });
  assert.deepEqual(
    findGivenToSlurmJob(job, swapped),
    unknown('SLURM_JOB_GPUS="0" of its processes names no GPUs for sure'),
  );
});
