/** `gpuctl verify-isolation` on what runs already, on simulated servers with eight GPUs and real processes. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { quoteArguments } from "../../lib/core/text.ts";
import { NEEDS_ROOT } from "../support/as_nobody.ts";
import { gpuctlCommand, withRuntime } from "../support/binary.ts";
import { type ControlGroup, makeControlGroup } from "../support/control_group.ts";
import { parseDocument } from "../support/documents.ts";
import type { IsolationReport, ViolationReport } from "../support/isolation_report.ts";
import { type RunningProgram, runProgram, startProgram } from "../support/running_program.ts";
import { type SimulatedServer, startSim } from "../support/sim.ts";
import { makeSlurmJob } from "../support/slurm_node.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { startOnTerminal } from "../support/terminal.ts";
import { until } from "../support/until.ts";

/** The keys that only a report on what runs has something in. */
interface RunningReport extends IsolationReport {
  readonly looks: number;
  readonly violations: readonly (ViolationReport & {
    readonly user: string | null;
    readonly rule: { readonly line: number; readonly text: string } | null;
  })[];
  readonly rules: readonly { readonly line: number; readonly verdict: string }[] | null;
}

const ID = "0f".repeat(32);
/** A number that no job of a real Slurm has. */
const JOB = 99_000_017;
const USER = userInfo().username;
const USAGE = "  hint: gpuctl verify-isolation --gpu 1 -- python train.py\n";

async function verify(sim: SimulatedServer, ...options: readonly string[]) {
  const ended = await sim.run(["verify-isolation", "--json", ...options], { within: 60_000 });
  assert.notEqual(ended.stdout, "", ended.stderr);
  const report = parseDocument<RunningReport>(ended.stdout);
  return { ...ended, report };
}

/** Starts a job that is in a control group from its first moment, and waits until its scene stands. */
async function holdIn(
  group: ControlGroup,
  sim: SimulatedServer,
  words: readonly string[],
): Promise<RunningProgram & { readonly readyPid: number }> {
  const hold = quoteArguments([...gpuctlCommand(), "sim", "hold", ...words, "--for", "60s"]);
  const script = `echo $$ > ${quoteArguments([group.members])}; exec ${hold}`;
  const program = startProgram(["/bin/sh", "-c", script], withRuntime({ env: sim.env }));
  const [, readyPid] = await program.untilOutput(/^ready (\d+)$/m);
  return Object.assign(program, { readyPid: Number(readyPid) });
}

const broken = ({ violations }: RunningReport) =>
  violations.map(({ pid, index, cause }) => [pid, index, cause]);
const brokenRules = ({ violations }: RunningReport) =>
  violations.map(({ pid, index, cause, rule }) => [pid, index, cause, rule?.line]);

test(
  "verify-isolation --slurm-job holds a job to the GPUs that Slurm gave it, and says where it has that from",
  NEEDS_ROOT,
  async () => {
    await using sim = await startSim();
    await using group = makeSlurmJob(JOB);
    await using job = await sim.hold({ gpu: 5, env: { SLURM_JOB_GPUS: "5,6" } });
    await using _neighbour = await sim.hold({ gpu: 2 });
    group.add(job.readyPid);
    const kept = await verify(sim, "--slurm-job", String(JOB));
    const named = await verify(sim, "--slurm-job", String(JOB), "--gpu", "6");
    await job[Symbol.asyncDispose]();

    assert.deepEqual([kept.status, kept.report.verdict], [0, "isolated"]);
    assert.equal(
      kept.report.notes[0],
      'Which GPUs were given is taken from SLURM_JOB_GPUS="5,6" of its processes; --gpu would say it for certain',
    );
    assert.deepEqual([named.status, broken(named.report)], [10, [[job.readyPid, 5, "variable-missing"]]]);
  },
);

test(
  "verify-isolation --container judges what it has past what it was given, and who joins it meanwhile",
  NEEDS_ROOT,
  async () => {
    await using sim = await startSim();
    await using group = makeControlGroup({ path: ["docker", ID] });
    await using first = await sim.hold({ gpu: 3, env: { NVIDIA_VISIBLE_DEVICES: "4" } });
    group.add(first.readyPid);
    const options = ["--container", ID.slice(0, 12)];
    const past = await verify(sim, ...options);
    await using watch = sim.start(["verify-isolation", "--json", ...options, "--gpu", "3", "--for", "60s"]);
    await using second = await holdIn(group, sim, ["--gpu", "7"]);
    // A second watch takes long enough for the first one to have looked.
    const short = await verify(sim, ...options, "--gpu", "3", "--for", "1s", "--interval", "200ms");
    watch.send("SIGINT");
    const ended = await watch.ended;
    const report: RunningReport = JSON.parse(ended.stdout);
    await Promise.all([first, second].map((hold) => hold[Symbol.asyncDispose]()));

    assert.deepEqual([past.status, broken(past.report)], [10, [[first.readyPid, 3, "container"]]]);
    const astray = [[second.readyPid, 7, "container"]];
    assert.deepEqual([short.status, broken(short.report)], [10, astray]);
    assert.ok(short.report.looks > 1);
    assert.deepEqual([ended.status, broken(report)], [10, astray]);
    assert.match(report.notes[0] ?? "", /^SIGINT ended the watch after .+ of 1 min: only that was judged$/);
  },
);

test("verify-isolation says on a terminal how long it watches", async () => {
  await using sim = await startSim({ gpus: 1 });
  const verifying = [
    ...gpuctlCommand(),
    "verify-isolation",
    "--pid",
    String(process.pid),
    "--gpu",
    "0",
  ] as const;
  await using run = startOnTerminal([verifying[0] ?? "", ...verifying.slice(1), "--for", "1s"], sim);
  await run.ended;
  assert.equal(run.stdout.split("\r\n")[0], "gpuctl: watching what runs for 1 s");
});

test("verify-isolation --exclusive finds who else is on the GPUs, and only notes it otherwise", async () => {
  await using sim = await startSim();
  await using job = await sim.hold({ gpu: 1 });
  await using other = await sim.hold({ gpu: 1 });
  const options = ["--gpu", "1", "--pid", String(job.readyPid)];
  const shared = await verify(sim, ...options);
  const exclusive = await verify(sim, ...options, "--exclusive");

  assert.equal(shared.status, 0);
  assert.match(
    shared.report.notes[0] ?? "",
    new RegExp(`^PID ${other.readyPid} \\(.+ had 2.5 GiB on GPU 1 too$`),
  );
  assert.deepEqual([exclusive.status, broken(exclusive.report)], [10, [[other.readyPid, 1, "intruder"]]]);
  assert.equal(exclusive.report.violations[0]?.user, USER);
});

test(
  "verify-isolation --rules judges everybody on the machine, and is silent when told to be",
  NEEDS_ROOT,
  async () => {
    await using sim = await startSim();
    using folder = temporaryFolder();
    await using group = makeSlurmJob(JOB);
    await using job = await sim.hold({ gpu: 5, env: { SLURM_JOB_GPUS: "5" } });
    await using astray = await sim.hold({ gpu: 6 });
    await using _kept = await sim.hold({ gpu: 0 });
    group.add(job.readyPid);
    const rules = folder.write(
      "rules.toml",
      '[[rule]]\nslurm-job = "*"\ngpus = "given"\nexclusive = true\n[[rule]]\nuser = "root"\ngpus = "0-1"\n',
    );
    const judged = await verify(sim, "--rules", rules);
    const text = await sim.run(["verify-isolation", "--rules", rules]);
    await astray[Symbol.asyncDispose]();
    const quiet = await sim.run(["verify-isolation", "--rules", rules, "--quiet", "--for", "300ms"]);
    await job[Symbol.asyncDispose]();

    assert.deepEqual([judged.status, judged.report.verdict], [10, "violated"]);
    assert.deepEqual(brokenRules(judged.report), [[astray.readyPid, 6, "variable-missing", 5]]);
    assert.deepEqual(judged.report.rules?.map(({ line, verdict }) => [line, verdict]), [
      [1, "isolated"],
      [5, "violated"],
      [0, "isolated"],
    ]);
    assert.deepEqual(text.stdout.split("\n").slice(0, 5).map((line) => line.replace(/\(.+?\)/, "(...)")), [
      "SIMULATED SERVER: no real GPU is behind these numbers",
      "VIOLATED: 1 process broke 1 rule of 3, on GPU 6",
      "",
      `PID ${astray.readyPid} (...) of root had 2.5 GiB on GPU 6: variable-missing`,
      "  rule: user root may use GPU 0, GPU 1 (...)",
    ]);
    assert.deepEqual(quiet, { status: 0, signal: null, stdout: "", stderr: "" });
  },
);

test("verify-isolation --rules writes one line a finding to a journal", async () => {
  await using sim = await startSim({ faults: '[gpu.3]\nprocess-list = "denied"\n' });
  using folder = temporaryFolder();
  await using job = await sim.hold({ gpu: 6 });
  const journal = join(folder.path, "journal");
  const rules = folder.write("rules.toml", '[default]\ngpus = "none"\n');
  const verifying = quoteArguments([...gpuctlCommand(), "verify-isolation", "--rules", rules]);
  const script = 'exec 2>>"$1"; export JOURNAL_STREAM="$(stat -L -c %d:%i /proc/self/fd/2)"; ' + verifying;
  await using shell = startProgram(["/bin/sh", "-c", script, "sh", journal], withRuntime({ env: sim.env }));
  const { status, stdout } = await shell.ended;

  assert.deepEqual([status, stdout], [10, ""]);
  assert.deepEqual(readFileSync(journal, "utf8").replace(/\(.+?\)/, "(...)").split("\n"), [
    `<3>PID ${job.readyPid} (...) of ${USER} had 2.5 GiB on GPU 6: variable-missing; whom no rule names may use no GPU ` +
    "(line 1)",
    "<4>GPU 3: its processes were not all listed: no permission",
    "",
  ]);
});

test("verify-isolation --rules is 3, never 0, where processes are not listed, and tells of what grew there", async () => {
  await using sim = await startSim({ faults: '[gpu.3]\nprocess-list = "denied"\n' });
  using folder = temporaryFolder();
  const rules = folder.write("rules.toml", '[default]\ngpus = "any"\n');
  await using watch = sim.start(["verify-isolation", "--json", "--rules", rules, "--for", "60s"]);
  // The first look is what growth counts from: it has been taken once signals are caught.
  await until("the watch to be on", () => catchesSignals(watch.pid));
  await using _job = await sim.hold({ gpu: 3 });
  const short = await verify(sim, "--rules", rules, "--for", "1s");
  watch.send("SIGTERM");
  const ended = await watch.ended;
  const report: RunningReport = JSON.parse(ended.stdout);

  assert.deepEqual([short.status, short.report.verdict, short.report.suspicions], [3, "unproven", []]);
  assert.deepEqual([ended.status, report.verdict, report.violations], [3, "unproven", []]);
  assert.deepEqual(report.suspicions.map(({ index, growthBytes }) => [index, growthBytes > 1024 ** 3]), [
    [3, true],
  ]);
});

test(
  "verify-isolation --rules is 3 from inside a PID namespace, where others cannot be seen",
  NEEDS_ROOT,
  async () => {
    await using sim = await startSim({ gpus: 2 });
    using folder = temporaryFolder();
    const rules = folder.write("rules.toml", '[default]\ngpus = "any"\n');
    const words = quoteArguments([...gpuctlCommand(), "verify-isolation", "--json", "--rules", rules]);
    const inside = [
      "unshare",
      "--pid",
      "--fork",
      "--kill-child",
      "--mount-proc",
      "/bin/sh",
      "-c",
      words,
    ] as const;
    const { status, stdout } = await runProgram(inside, withRuntime({ env: sim.env }));
    const report: RunningReport = JSON.parse(stdout);

    assert.deepEqual([status, report.verdict], [3, "unproven"]);
    const hidden =
      "its processes were not all listed: hidden from here (processes outside this PID namespace are " +
      "not listed)";
    assert.deepEqual(report.problems.slice(0, 2).map(({ message }) => message), [
      `GPU 0: ${hidden}`,
      `GPU 1: ${hidden}`,
    ]);
  },
);

test("verify-isolation --rules shows hostile names and obeys none of them", NEEDS_ROOT, async () => {
  await using sim = await startSim();
  using folder = temporaryFolder();
  const unit = 'a, "b"\u001b[2J\u202e.service';
  await using group = makeControlGroup({ path: ["hostile.slice".padEnd(60, "x"), unit] });
  await using job = await holdIn(group, sim, ["--gpu", "4"]);
  const rules = folder.write("rules.toml", '[[rule]]\nunit = "a, \\"b\\"*"\ngpus = "none"\n');
  const { status, stdout, stderr } = await sim.run(["verify-isolation", "--rules", rules]);
  const named = await sim.run(["verify-isolation", "--unit", unit, "--gpu", "4"]);
  await job[Symbol.asyncDispose]();

  assert.deepEqual([status, stderr], [10, ""]);
  assert.match(stdout, /of root, in a, "b"\\u\{1b\}\[2J\\u\{202e\}\.service had 1\.5 GiB on GPU 4/);
  assert.ok(!["\u001b", "\u202e"].some((character) => stdout.includes(character)));
  assert.deepEqual([named.status, named.stderr], [0, ""]);
});

test("verify-isolation --rules tells everything in the file that makes no sense, each with its place", async () => {
  await using sim = await startSim({ gpus: 2 });
  using folder = temporaryFolder();
  const path = folder.write(
    "rules.toml",
    '[[rule]]\nusr = "root"\ngpus = 0\n\n[[rule]]\nuser = ["rooot"]\ngpus = "0-5"\n',
  );
  const one = folder.write("one.toml", '[[rule]]\nuser = "root\n');
  assert.deepEqual(await sim.run(["verify-isolation", "--rules", path]), {
    status: 2,
    signal: null,
    stdout: "",
    stderr: [
      `gpuctl: Cannot use ${path}: there are 3 mistakes`,
      `${path}:2:1: there is no key "usr"; did you mean "user"?`,
      `${path}:6:1: this machine has no user "rooot"; did you mean "root"?`,
      `${path}:7:1: Cannot select GPU 0-5: this machine has GPU 0-1`,
      "",
    ].join("\n"),
  });
  const { status, stderr } = await sim.run(["verify-isolation", "--rules", one]);
  assert.deepEqual([status, stderr.startsWith(`gpuctl: Cannot use ${one}:2:`)], [2, true]);
  const missing = await sim.run(["verify-isolation", "--rules", `${folder.path}/none`]);
  assert.deepEqual([missing.status, missing.stderr], [
    3,
    `gpuctl: Cannot read the rules ${folder.path}/none: there is no such file\n`,
  ]);
});

test("verify-isolation tells what is wrong with rules also where the driver does not answer", async () => {
  await using sim = await startSim({ gpus: 1, faults: "hang = true\n" });
  using folder = temporaryFolder();
  const wrong = folder.write("wrong.toml", "[default]\n");
  const right = folder.write("right.toml", '[default]\ngpus = "any"\n');
  const statusOf = async (rules: string) =>
    (await sim.run(["verify-isolation", "--rules", rules, "--deadline", "200ms"])).status;
  assert.deepEqual([await statusOf(wrong), await statusOf(right)], [2, 3]);
});

test("verify-isolation refuses names of nobody, and what nobody said which GPUs are for", async () => {
  await using sim = await startSim({ gpus: 2 });
  const refusal = async (...words: readonly string[]) => {
    const { status, stdout, stderr } = await sim.run(["verify-isolation", ...words]);
    assert.equal(stdout, "");
    return [status, stderr.replace("gpuctl: Cannot verify isolation: ", "").replace(USAGE, "").trim()];
  };
  assert.deepEqual(await refusal("--container", "web"), [
    3,
    "gpuctl: Cannot judge container web: nothing of it runs here\n" +
    "  hint: docker, podman and containerd know a container by its id: give at least the first 12 digits of that",
  ]);
  assert.deepEqual(await refusal("--slurm-job", String(JOB)), [
    3,
    `gpuctl: Cannot judge Slurm job ${JOB}: nothing of it runs here\n` +
    `  hint: gpuctl snapshot --source sim:${sim.folder} --json says of every holder to whom it belongs`,
  ]);
  assert.deepEqual(await refusal("--user", "root"), [2, "--gpu does not say which GPUs are theirs"]);
  assert.deepEqual(await refusal("--unit", "a.service"), [2, "--gpu does not say which GPUs are theirs"]);
  assert.deepEqual(await refusal("--rules", "x", "--gpu", "0"), [
    2,
    "--gpu does not go with --rules: each rule speaks for itself",
  ]);
  assert.deepEqual(await refusal("--rules", "x", "--slurm-job", "1"), [
    2,
    "--rules and --slurm-job cannot both be judged",
  ]);
  assert.deepEqual(await refusal("--pid", "1", "--user", "root", "--gpu", "0"), [
    2,
    "--pid and --user cannot both be judged",
  ]);
  assert.deepEqual(await refusal("--gpu", "0", "--pid", "1", "--interval", "1s"), [
    2,
    "--interval needs --for or a command",
  ]);
  assert.deepEqual(await refusal("--gpu", "0", "--for", "1s"), [2, "--for is for what runs already"]);
  assert.deepEqual(await refusal("--gpu", "0", "--for", "1s", "--", "true"), [
    2,
    "--for is for what runs already",
  ]);
});

/** Whether a process has a handler for SIGTERM: bit 14 of SigCgt (proc_pid_status(5)). */
function catchesSignals(pid: number): boolean {
  const [, mask = "0"] = /^SigCgt:\s*([0-9a-f]+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return (BigInt(`0x${mask}`) >> 14n & 1n) === 1n;
}

/** Starts a shell that starts a job, says who it is once its scene stands, and waits. */
async function startAround(sim: SimulatedServer, start: (job: string) => string) {
  using folder = temporaryFolder();
  const said = quoteArguments([folder.write("said", "")]);
  const job = `${quoteArguments([...gpuctlCommand(), "sim", "hold", "--gpu", "3", "--for", "60s"])} >${said}`;
  const script = `${start(job)}\nuntil grep ready ${said}; do sleep 0.02; done; echo shell $$; read line`;
  const program = startProgram(
    ["/bin/sh", "-c", script],
    withRuntime({ env: sim.env, input: { isOpen: true } }),
  );
  const [, id] = await program.untilOutput(/^ready (\d+)$/m);
  const [, shell] = await program.untilOutput(/^shell (\d+)$/m);
  return Object.assign(program, { job: Number(id), shell: String(shell) });
}

test("verify-isolation --pid is 3 where a daemon that the process may have started is on another GPU", async () => {
  await using sim = await startSim();
  await using daemon = await startAround(sim, (job) => `(setsid ${job} &)`);
  const { status, report } = await verify(sim, "--gpu", "5", "--pid", daemon.shell);
  process.kill(daemon.job);

  assert.deepEqual([status, report.verdict, report.violations], [3, "unproven", []]);
  assert.equal(
    report.problems[0]?.message,
    `GPU 3: PID ${daemon.job} has a context, and whose it is could not be told`,
  );
});

test("verify-isolation --pid refuses a thread, which has no context of its own to be found", async () => {
  await using sim = await startSim();
  await using job = await sim.hold({ gpu: 3 });
  const [thread] = readdirSync(`/proc/${job.readyPid}/task`).filter((task) => task !== String(job.readyPid));
  const { status, stdout, stderr } = await sim.run([
    "verify-isolation",
    "--gpu",
    "5",
    "--pid",
    String(thread),
  ]);

  assert.deepEqual([status, stdout], [3, ""]);
  assert.equal(
    stderr,
    `gpuctl: Cannot judge PID ${thread}: that is a thread, not a process\n` +
      `  hint: grep Tgid /proc/${thread}/status says of which process\n`,
  );
});
