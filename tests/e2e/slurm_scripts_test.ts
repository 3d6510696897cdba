/** The scripts for Slurm's prolog and epilog, as slurmd runs them, on a simulated node. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { NEEDS_ROOT } from "../support/as_nobody.ts";
import { type SimulatedServer, startSim } from "../support/sim.ts";
import { makeSlurmJob, runSlurmScript } from "../support/slurm_node.ts";
import { findIdentity } from "../support/victim.ts";

const NO_GPUCTL = { gpuctl: "echo called >&2; exit 1" };

/** Starts a job that sees one GPU, as Slurm's jobs do, and leaves a process behind on it. */
async function startLeftover(server: SimulatedServer, gpu: number) {
  const env = { CUDA_VISIBLE_DEVICES: String(gpu) };
  const program = server.start(["sim", "hold", "--scene", "forked-child", "--for", "60s"], { env });
  const [, leftover] = await program.untilOutput(/^ready (\d+)$/m);
  return Object.assign(program, { leftover: Number(leftover) });
}

test("the scripts have nothing to do with a job that has no GPU", async () => {
  const silent = { status: 0, signal: null, stdout: "", stderr: "" };
  assert.deepEqual(await runSlurmScript("prolog.sh", { SLURM_JOB_ID: "77" }, NO_GPUCTL), silent);
  assert.deepEqual(await runSlurmScript("epilog.sh", { SLURM_JOB_ID: "77" }, NO_GPUCTL), silent);
  const hidden = { SLURM_JOB_ID: "77", CUDA_VISIBLE_DEVICES: "NoDevFiles" };
  assert.deepEqual(await runSlurmScript("epilog.sh", hidden, NO_GPUCTL), silent);
});

test("the prolog lets a job start where nothing was left, and where others are at work", async () => {
  await using server = await startSim({ gpus: 2 });
  await using _job = await server.hold({ gpu: 0 });
  const env = { ...server.env, SLURM_JOB_ID: "77", SLURM_JOB_GPUS: "0,1" };
  assert.deepEqual(await runSlurmScript("prolog.sh", env), {
    status: 0,
    signal: null,
    stdout: "",
    stderr: "",
  });
});

test("the prolog refuses a GPU with something left on it, says what, and ends nothing", async () => {
  await using server = await startSim({ gpus: 2 });
  const leftover = await server.hold({ gpu: 0, scene: "forked-child" });
  const before = findIdentity(leftover.readyPid);
  const { status, stdout, stderr } = await runSlurmScript("prolog.sh", {
    ...server.env,
    SLURM_JOB_ID: "77",
    SLURM_JOB_GPUS: "0",
  });
  assert.deepEqual([status, stdout], [10, ""]);
  assert.match(
    stderr,
    new RegExp(`^GPU 0 refused to job 77 \\(status 10\\):\\n[^]*\\nPID ${leftover.readyPid}  inherited  `),
  );
  assert.deepEqual(findIdentity(leftover.readyPid), before);
});

test("the prolog refuses a GPU of which it cannot tell", async () => {
  await using server = await startSim({ gpus: 1 });
  const { status, stderr } = await runSlurmScript("prolog.sh", { ...server.env, SLURM_JOB_GPUS: "7" });
  assert.equal(status, 3);
  assert.match(stderr, /^GPU 7 refused to job \? \(status 3\):\ngpuctl: Cannot /);
  const unknown = await runSlurmScript("prolog.sh", { GPUCTL_SOURCE: "sim:/dev/null", SLURM_JOB_GPUS: "0" });
  assert.equal(unknown.status, 3);
});

test("the epilog ends what its own job left, and not what another job left", NEEDS_ROOT, async () => {
  await using job = makeSlurmJob(77);
  await using otherJob = makeSlurmJob(78);
  await using server = await startSim({ gpus: 2 });
  await using own = await startLeftover(server, 0);
  await using other = await startLeftover(server, 1);
  job.add(own.leftover);
  otherJob.add(other.leftover);
  const spared = findIdentity(other.leftover);
  const env = { ...server.env, SLURM_JOB_ID: "77", SLURM_JOB_GPUS: "0" };
  assert.deepEqual(await runSlurmScript("epilog.sh", env), {
    status: 0,
    signal: null,
    stdout: "",
    stderr: "",
  });
  assert.deepEqual([findIdentity(own.leftover), findIdentity(other.leftover)], [undefined, spared]);

  const ofNobody = { ...server.env, SLURM_JOB_ID: "79", SLURM_JOB_GPUS: "1" };
  const { status, stderr } = await runSlurmScript("epilog.sh", ofNobody);
  assert.deepEqual([status, stderr.split("\n")[0]], [10, "GPU 1 after job 79 (status 10):"]);
  assert.deepEqual(findIdentity(other.leftover), spared);
});

test("the epilog waits for another cleaning, and names the job and its GPUs", async () => {
  const gpuctl =
    `echo "$@" >> "$HOME/calls"; [ "$(wc -l < "$HOME/calls")" -gt 1 ] && cat "$HOME/calls" >&2 && exit 6
echo another is at work; exit 5`;
  const env = { SLURM_JOB_ID: "77", SLURM_JOB_GPUS: "2,3" };
  const call = "clean-zombies --yes --slurm-job 77 --gpu 2,3 --min-age 0s --confirm 1s --grace 10s\n";
  assert.deepEqual(await runSlurmScript("epilog.sh", env, { gpuctl }), {
    status: 6,
    signal: null,
    stdout: "",
    stderr: `GPU 2,3 after job 77 (status 6):\n${call}${call}`,
  });
});
