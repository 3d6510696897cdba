import assert from "node:assert/strict";
import { test } from "node:test";
import { attribute } from "../../../lib/analysis/attribute.ts";
import { pid } from "../../../lib/core/ids.ts";
import type { HolderJob } from "../../../lib/model/snapshot.ts";
import { observe, type ProcessSpec } from "../../support/machine.ts";

type Variables = Readonly<Record<string, string>>;

const AGENT: ProcessSpec = { pid: 690, argv: ["python3", "/usr/bin/torchrun"] };
const OTHER_AGENT: ProcessSpec = { ...AGENT, pid: 691 };
const torchrun = (rank: number, more: Variables = {}): Variables => ({
  ...{ TORCHELASTIC_RUN_ID: "none", MASTER_ADDR: "127.0.0.1", MASTER_PORT: "29500" },
  ...{ RANK: String(rank), LOCAL_RANK: String(rank % 8) },
  ...more,
});
const rankOf = (number: number, parent: number, environment: ProcessSpec["environment"]): ProcessSpec => ({
  ...{ pid: number, parent, touch: "context" },
  ...environment && { environment },
});

/** The job of each holder, by pid; `undefined` where it shows none. */
function jobsOn(...processes: readonly ProcessSpec[]): Readonly<Record<number, HolderJob | undefined>> {
  return Object.fromEntries(attribute(observe({ processes })).holders.map(({ pid, job }) => [pid, job]));
}

const job = (launcher: HolderJob["launcher"], firstPid: number, rank?: number, name?: string): HolderJob => ({
  ...{ launcher, firstPid: pid(firstPid) },
  ...name !== undefined && { name },
  ...rank !== undefined && { rank },
});

test("findHolderJobs() takes the ranks under one agent for one job, and calls it by where they meet", () => {
  assert.deepEqual(jobsOn(AGENT, rankOf(701, 690, torchrun(1)), rankOf(700, 690, torchrun(0))), {
    700: job("torchrun", 700, 0, "127.0.0.1:29500"),
    701: job("torchrun", 700, 1, "127.0.0.1:29500"),
  });
});

test("findHolderJobs() counts ranks over all machines, and calls a job what its user calls it", () => {
  const variables = torchrun(11, { TORCHELASTIC_RUN_ID: "llm" });
  assert.deepEqual(jobsOn(AGENT, rankOf(700, 690, variables)), { 700: job("torchrun", 700, 11, "llm") });
});

const LAUNCHERS: Readonly<Record<string, readonly [Variables, HolderJob["launcher"], string | undefined]>> = {
  DeepSpeed: [{ CROSS_RANK: "0", LOCAL_RANK: "2", MASTER_ADDR: "a", MASTER_PORT: "1" }, "deepspeed", "a:1"],
  Horovod: [{ HOROVOD_RANK: "2", HOROVOD_GLOO_RENDEZVOUS_PORT: "9" }, "horovod", undefined],
  "Open MPI": [{ OMPI_COMM_WORLD_RANK: "2", PMIX_NAMESPACE: "prte-1@1" }, "mpi", "prte-1@1"],
  MPICH: [{ PMI_RANK: "2", PMI_JOBID: "7" }, "mpi", "7"],
  Slurm: [{ SLURM_PROCID: "2", SLURM_JOB_ID: "4711", SLURM_STEP_ID: "0" }, "slurm", "4711.0"],
  "torchrun inside a Slurm step": [
    { ...torchrun(2), SLURM_PROCID: "0", SLURM_JOB_ID: "4711", SLURM_STEP_ID: "0" },
    "torchrun",
    "127.0.0.1:29500",
  ],
  "somebody who sets the variables": [
    { RANK: "2", MASTER_ADDR: "a", MASTER_PORT: "1" },
    "torch-distributed",
    "a:1",
  ],
};

for (const [who, [variables, launcher, name]] of Object.entries(LAUNCHERS)) {
  test(`findHolderJobs() knows a rank of ${who}`, () => {
    assert.deepEqual(jobsOn(rankOf(700, 690, variables)), { 700: job(launcher, 700, 2, name) });
  });
}

const NO_RANKS: Readonly<Record<string, ProcessSpec["environment"]>> = {
  "no variable that tells its job from others": { OMPI_COMM_WORLD_RANK: "0", LOCAL_RANK: "0" },
  "a rank that is no number": torchrun(0, { RANK: "first", LOCAL_RANK: "0" }),
  "a meeting point and no rank": { MASTER_ADDR: "127.0.0.1", MASTER_PORT: "29500" },
  "a batch script's variables, which is no step": { SLURM_PROCID: "0", SLURM_JOB_ID: "4711" },
  "variables that are overwritten": "erased",
};

for (const [what, environment] of Object.entries(NO_RANKS)) {
  test(`findHolderJobs() takes a process with ${what} for no rank`, () => {
    assert.deepEqual(jobsOn(rankOf(700, 690, environment)), { 700: undefined });
  });
}

test("findHolderJobs() keeps two jobs apart that meet at one point, by who has started their ranks", () => {
  const jobs = jobsOn(
    AGENT,
    OTHER_AGENT,
    ...[rankOf(700, 690, torchrun(0)), rankOf(701, 690, torchrun(1))],
    ...[rankOf(710, 691, torchrun(0)), rankOf(711, 691, torchrun(1))],
  );
  assert.deepEqual(Object.values(jobs).map((job) => job?.firstPid), [700, 700, 710, 710]);
});

test("findHolderJobs() keeps two jobs of one launcher apart in any variable that tells them apart", () => {
  for (const name of ["TORCHELASTIC_RUN_ID", "MASTER_PORT", "SLURM_STEP_ID", "PMIX_NAMESPACE"]) {
    const jobs = jobsOn(AGENT, rankOf(700, 690, torchrun(0)), rankOf(701, 690, torchrun(1, { [name]: "5" })));
    assert.deepEqual(Object.values(jobs).map((job) => job?.firstPid), [700, 701], name);
  }
});

test("findHolderJobs() keeps the jobs of two users apart, whoever has taken them in", () => {
  const bob = { uid: 1001, name: "bob" };
  const jobs = jobsOn(rankOf(700, 1, torchrun(0)), { ...rankOf(701, 1, torchrun(1)), user: bob });
  assert.deepEqual(Object.values(jobs).map((job) => job?.firstPid), [700, 701]);
});

test("findHolderJobs() names no job where a rank is there twice: what two jobs left cannot be told apart", () => {
  const jobs = jobsOn(...[700, 701, 710].map((number) => rankOf(number, 1, torchrun(number % 2))));
  assert.deepEqual(Object.values(jobs), [undefined, undefined, undefined]);
});

test("findHolderJobs() names no job for ranks without their launcher that were started at two times", () => {
  const at = (seconds: number, process: ProcessSpec) => ({ ...process, startTicks: 10_000 + 100 * seconds });
  const left = (seconds: number) =>
    Object.values(jobsOn(at(0, rankOf(700, 1, torchrun(0))), at(seconds, rankOf(701, 1, torchrun(1)))))
      .map((job) => job?.firstPid);
  assert.deepEqual([left(10), left(11)], [[700, 700], [undefined, undefined]]);

  const underOne = jobsOn(
    AGENT,
    at(0, rankOf(700, 690, torchrun(0))),
    at(3600, rankOf(701, 690, torchrun(1))),
  );
  assert.deepEqual(Object.values(underOne).map((job) => job?.firstPid), [700, 700]);
});

test("findHolderJobs() takes what a rank has started for a part of its job, with variables or without", () => {
  const jobs = jobsOn(
    ...[AGENT, rankOf(700, 690, torchrun(0)), rankOf(701, 690, torchrun(1))],
    rankOf(720, 701, torchrun(1)),
    rankOf(721, 701, {}),
    rankOf(722, 720, "erased"),
  );
  const part = job("torchrun", 700, 1, "127.0.0.1:29500");
  assert.deepEqual([jobs[720], jobs[721], jobs[722]], [part, part, part]);
});

test("findHolderJobs() finds the ranks that each run under a shell of their own", () => {
  const variables = (rank: number) => ({ OMPI_COMM_WORLD_RANK: String(rank), PMIX_NAMESPACE: "n" });
  const shell = (number: number, rank: number): ProcessSpec => ({
    ...{ pid: number, parent: 690, program: "/usr/bin/bash", environment: variables(rank) },
  });
  const jobs = jobsOn(
    ...[{ pid: 690, program: "/usr/bin/mpirun" }, shell(691, 0), shell(692, 1)],
    ...[rankOf(700, 691, variables(0)), rankOf(701, 692, variables(1))],
  );
  assert.deepEqual(Object.values(jobs), [job("mpi", 700, 0, "n"), job("mpi", 700, 1, "n")]);
});

const titled = (number: number, parent: number, title: string): ProcessSpec => ({
  ...{ pid: number, parent, argv: [title], environment: "erased", touch: "context" },
});

test("findHolderJobs() takes the workers below one vLLM server for one job", () => {
  const jobs = jobsOn(
    { pid: 690, argv: ["python3", "-m", "vllm"] },
    titled(700, 690, "VLLM::EngineCore"),
    titled(701, 700, "VLLM::Worker_TP0"),
    titled(702, 700, "VLLM::Worker_TP1"),
    titled(703, 690, "VLLM::Worker_DP1_TP0"),
  );
  assert.deepEqual(Object.values(jobs), [
    job("vllm", 700),
    job("vllm", 700, 0),
    job("vllm", 700, 1),
    job("vllm", 700),
  ]);
});

test("findHolderJobs() joins vLLM's workers without their server only where one has started the other", () => {
  const jobs = jobsOn(
    titled(700, 1, "VLLM::EngineCore"),
    titled(701, 700, "VLLM::Worker_TP0"),
    titled(710, 1, "VLLM::EngineCore"),
  );
  assert.deepEqual(Object.values(jobs).map((job) => job?.firstPid), [700, 700, 710]);
});

test("findHolderJobs() believes no title of a program that is not Python", () => {
  assert.deepEqual(jobsOn({ ...titled(700, 1, "VLLM::EngineCore"), program: "/home/eve/x" }), {
    700: undefined,
  });
});
