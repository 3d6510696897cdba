import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import process from "node:process";
import { test } from "node:test";
import { quoteArguments } from "../../lib/core/text.ts";
import type { LintJson } from "../../lib/model/schema/lint.ts";
import { runGpuctl } from "../support/binary.ts";
import { parseDocument } from "../support/documents.ts";
import { holdCommand, type IsolationReport, verify } from "../support/isolation_report.ts";
import { startSim } from "../support/sim.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";

const USAGE = "  hint: gpuctl verify-isolation --gpu 1 -- python train.py\n";

const briefly = (...words: string[]) => holdCommand(...words, "--for", "1s");

const causesOf = ({ violations }: IsolationReport) => violations.map(({ index, cause }) => [index, cause]);

test("verify-isolation is 0 when a job stays on its GPU, and leaves standard output to it", async () => {
  await using sim = await startSim({ gpus: 2 });
  await using _neighbour = await sim.hold({ gpu: 0 });
  const { status, stdout, stderr, report } = await verify(sim, briefly("--gpu", "1"), {
    options: ["--gpu", "1"],
  });

  assert.match(stdout, /^ready \d+\n$/);
  assert.deepEqual([status, stderr], [0, ""]);
  assert.deepEqual([report.schema, report.simulated, report.verdict], [
    "gpuctl.verify-isolation/1",
    true,
    "isolated",
  ]);
  assert.deepEqual(report.gpus.map(({ index, allowed, verdict }) => [index, allowed, verdict]), [
    [0, "not", "isolated"],
    [1, "wholly", "isolated"],
  ]);
  assert.deepEqual([report.violations, report.suspicions], [[], []]);
});

test("verify-isolation is 10 when CUDA_VISIBLE_DEVICES is not set, and says so first", async () => {
  await using sim = await startSim({ gpus: 2 });
  const { status, stdout, stderr } = await sim.run([
    ...["verify-isolation", "--gpu", "1", "--"],
    ...briefly("--gpu", "0"),
  ]);
  const pid = /^ready (\d+)$/m.exec(stdout)?.[1];

  assert.equal(status, 10);
  const lines = stderr.split("\n");
  assert.match(lines[2] ?? "", / sim hold --gpu 0 --for 1s: ended with status 0 after 1(?:\.\d)? s$/);
  assert.deepEqual(lines.slice(0, 5).toSpliced(2, 1), [
    "SIMULATED SERVER: no real GPU is behind these numbers",
    "VIOLATED: the job was given GPU 1; 1 process of it had a context out of place, on GPU 0",
    "",
    `PID ${pid} (${/\((.+)\)/.exec(stderr)?.[1]}) had 1.5 GiB on GPU 0: variable-missing`,
  ]);
  assert.match(stderr, /^ {2}fix: Start the job with CUDA_VISIBLE_DEVICES=GPU-/m);
});

test("verify-isolation names the seven of eight ranks that touched the first GPU", async () => {
  await using sim = await startSim({ gpus: 8 });
  const { status, report } = await verify(
    sim,
    holdCommand("--ranks", "8", "--stray-context", "--for", "5s"),
    {
      options: ["--gpu", "0-7"],
    },
  );

  assert.equal(status, 10);
  assert.deepEqual(causesOf(report), Array.from({ length: 7 }, () => [0, "default-device"]));
});

test("verify-isolation passes over contexts up to the threshold", async () => {
  await using sim = await startSim({ gpus: 2 });
  const job = briefly("--gpu", "1", "--bytes", "1MiB");
  const { status, report } = await verify(sim, job, { options: ["--gpu", "0", "--threshold", "2GiB"] });

  assert.deepEqual([status, report.verdict, report.violations], [0, "isolated", []]);
});

test("verify-isolation watches until the last process of a job that leaves others behind has gone", async () => {
  await using sim = await startSim({ gpus: 2 });
  // The command itself is over long before its child has come to a GPU.
  const child = `sleep 0.3; exec ${quoteArguments(briefly("--gpu", "1"))}`;
  const { status, report } = await verify(sim, ["/bin/sh", "-c", `(${child}) >/dev/null 2>&1 & exit 0`], {
    options: ["--gpu", "0"],
  });

  assert.deepEqual([status, causesOf(report)], [10, [[1, "variable-missing"]]]);
});

test("verify-isolation is 3 when nobody waits for what the command left behind", async () => {
  await using sim = await startSim({ gpus: 1 });
  await using watch = sim.start([
    ...["verify-isolation", "--gpu", "0", "--"],
    ...["/bin/sh", "-c", "sleep 30 >/dev/null 2>&1 & echo left $$"],
  ]);
  const [, shell] = await watch.untilOutput(/^left (\d+)$/m);
  await until("the command has ended", () => !existsSync(`/proc/${shell}`));
  watch.send("SIGTERM");
  const { status, stderr } = await watch.ended;

  assert.equal(status, 3);
  assert.match(stderr, /1 process of it still ran when the watch ended/);
});

test("verify-isolation --gpu none is 0 for a job without a GPU, and 10 for one with one", async () => {
  await using sim = await startSim({ gpus: 1 });
  const none = await sim.run(["verify-isolation", "--gpu", "none", "--", "sleep", "0.4"]);
  const one = await verify(sim, briefly("--gpu", "0"), { options: ["--gpu", "none"] });
  const pinned = await sim.run([
    "verify-isolation",
    "--gpu",
    "none",
    "--pin",
    "--",
    ...briefly("--gpu", "0"),
  ]);

  assert.equal(none.status, 0);
  assert.equal(
    none.stderr.split("\n")[1],
    "ISOLATED: the job was given no GPU, and had no context elsewhere",
  );
  assert.deepEqual([one.status, causesOf(one.report)], [10, [[0, "variable-missing"]]]);
  assert.equal(pinned.status, 3, "the job sees no GPU and fails by itself");
  assert.match(pinned.stderr, /Cannot use GPU 0: the job sees none/);
});

test("verify-isolation is 3 when a job is over before anybody has looked", async () => {
  await using sim = await startSim({ gpus: 1, faults: 'latency = "200ms"\n' });
  const { status, report } = await verify(sim, ["/bin/true"], { options: ["--gpu", "0"] });

  assert.deepEqual([status, report.verdict], [3, "unproven"]);
  assert.deepEqual(report.problems[0]?.message, "The job was over before the first look at the GPUs");
});

test("verify-isolation leaves the last word to a job that fails, and has the statuses of timeout and env", async () => {
  await using sim = await startSim({ gpus: 1 });
  using folder = temporaryFolder();
  const text = folder.write("text", "no program");
  const statusOf = async (options: readonly string[], ...command: readonly string[]) =>
    (await sim.run(["verify-isolation", "--gpu", "0", ...options, "--", ...command])).status;

  assert.equal(await statusOf([], "/bin/sh", "-c", "exit 7"), 7);
  assert.equal(await statusOf([], "/bin/sh", "-c", "kill -9 $$"), 137);
  assert.equal(await statusOf(["--timeout", "200ms"], "sleep", "30"), 124);
  assert.equal(await statusOf(["-o", `${folder.path}/missing/report`], "/bin/true"), 125);
  assert.equal(await statusOf(["--gpu", "5"], "/bin/true"), 125);
  assert.equal(await statusOf([], text), 126);
  assert.equal(await statusOf([], "no-such-command"), 127);
});

test("verify-isolation --pid judges what runs already", async () => {
  await using sim = await startSim({ gpus: 2 });
  await using job = await sim.hold({ gpu: 1 });
  const pid = String(job.readyPid);
  const apart = await sim.run(["verify-isolation", "--gpu", "1", "--pid", pid]);
  const astray = await sim.run(["verify-isolation", "--gpu", "0", "--pid", pid, "--json"]);
  const report: IsolationReport = parseDocument(astray.stdout);

  assert.deepEqual([apart.status, apart.stdout.split("\n")[1]], [
    0,
    "ISOLATED: the job was given GPU 1, and had no context elsewhere",
  ]);
  assert.deepEqual([astray.status, causesOf(report)], [10, [[1, "variable-missing"]]]);
});

test("verify-isolation --pid is 3 when a process is not there or its GPU lists none", async () => {
  await using sim = await startSim({ gpus: 1, faults: '[gpu.0]\nprocess-list = "denied"\n' });
  const missing = await sim.run(["verify-isolation", "--gpu", "0", "--pid", "4194304"]);
  const unlisted = await sim.run(["verify-isolation", "--gpu", "0", "--pid", String(process.pid)]);

  assert.deepEqual(missing, {
    status: 3,
    signal: null,
    stdout: "",
    stderr: "gpuctl: Cannot judge PID 4194304: there is no such process\n",
  });
  assert.deepEqual([unlisted.status, unlisted.stdout.split("\n")[1]?.split(":")[0]], [3, "NOT PROVEN"]);
});

const LATE = [
  "import torch",
  "torch.cuda.is_available()",
  "import os",
  'os.environ["CUDA_VISIBLE_DEVICES"] = "1"',
  "",
].join("\n");

test("verify-isolation --lint needs no GPU and is 10 for trouble, 0 for none and 3 for what it cannot tell", async () => {
  using folder = temporaryFolder();
  const late = folder.write("late.py", LATE);
  const fine = folder.write("fine.py", 'import os\nos.environ["CUDA_VISIBLE_DEVICES"] = "1"\nimport torch\n');
  const dark = folder.write("dark.py", "exec(input())\n");
  const found = await runGpuctl(["verify-isolation", "--lint", late]);
  const json = await runGpuctl(["verify-isolation", "--json", "--lint", fine, late]);
  const { schema, verdict, files, findings } = parseDocument<LintJson>(json.stdout);

  assert.equal(found.status, 10);
  assert.equal(found.stderr, "");
  assert.ok(found.stdout.startsWith(`${late}:4:1: error[set-after-cuda] `), found.stdout);
  assert.deepEqual([json.status, schema, verdict, files], [10, "gpuctl.lint/1", "found", [fine, late]]);
  assert.deepEqual(
    findings.map(({ rule, path, line }) => [rule, path, line]),
    [["set-after-cuda", late, 4]],
  );
  assert.deepEqual(await runGpuctl(["verify-isolation", "--lint", fine]), {
    status: 0,
    signal: null,
    stdout: "Nothing found in 1 file\n",
    stderr: "",
  });
  assert.equal((await runGpuctl(["verify-isolation", "--lint", dark])).status, 3);
  assert.deepEqual(await runGpuctl(["verify-isolation", "--lint", `${folder.path}/none.py`]), {
    status: 3,
    signal: null,
    stdout: "",
    stderr: `gpuctl: Cannot read ${folder.path}/none.py: there is no such file\n`,
  });
});

test("verify-isolation refuses a command line that does not say what to judge", async () => {
  const refusal = async (...words: readonly string[]) => {
    const { status, stderr } = await runGpuctl(["verify-isolation", ...words]);
    return [status, stderr.replace("gpuctl: Cannot verify isolation: ", "").replace(USAGE, "").trim()];
  };

  assert.deepEqual(await refusal(), [2, "neither a command, nor --pid, nor --rules, nor --lint was given"]);
  assert.deepEqual(await refusal("--", "true"), [2, "--gpu does not say which GPUs are the command's"]);
  assert.deepEqual(await refusal("--pid", "1"), [2, "--gpu does not say which GPUs are theirs"]);
  assert.deepEqual(await refusal("--gpu", "0", "--"), [2, "no command follows --"]);
  assert.deepEqual(await refusal("--gpu", "0", "train"), [2, '"train" does not stand after --']);
  assert.deepEqual(await refusal("--gpu", "0", "--pid", "1", "--", "true"), [
    2,
    "--pid is for what runs already, and a command was given too",
  ]);
  assert.deepEqual(await refusal("--gpu", "0", "--pid", "1", "--pin"), [2, "--pin needs a command to run"]);
});
