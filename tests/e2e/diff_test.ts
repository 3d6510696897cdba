import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync } from "node:fs";
import { test } from "node:test";
import { quoteArguments } from "../../lib/core/text.ts";
import { widthOf } from "../../lib/render/layout.ts";
import { gpuctlCommand, withRuntime } from "../support/binary.ts";
import { parseDocument, parseDocumentLines } from "../support/documents.ts";
import { readLook } from "../support/look.ts";
import { startProgram } from "../support/running_program.ts";
import { type SimulatedServer, startSim } from "../support/sim.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { startOnTerminal } from "../support/terminal.ts";
import { until } from "../support/until.ts";

const GIB = 1024 ** 3;

/** The keys of a report that these tests look at. */
interface Report {
  readonly schema: string;
  readonly command: string;
  readonly status: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
  readonly durationMs: number;
  readonly verdict: string;
  readonly settleEnd: string;
  readonly gpus: readonly {
    readonly index: number;
    readonly verdict: string;
    readonly beforeBytes: number;
    readonly peakBytes: number;
    readonly afterBytes: number;
    readonly leftBytes: number;
    readonly othersBytes: number;
    readonly releaseMs: number | null;
  }[];
  readonly leftovers: readonly { readonly pid: number; readonly class: string; readonly ofJob: boolean }[];
  readonly processes: readonly {
    readonly pid: number;
    readonly peakBytes: Readonly<Record<string, number>>;
  }[];
  readonly lingerers: readonly { readonly name: string }[];
  readonly cleanup:
    | { readonly acts: readonly { readonly outcome: string }[]; readonly freedBytes: number }
    | null;
}

/** A job whose leftovers do not keep the pipes of the test open. */
const quietly = (command: readonly string[]) => inShell(`${quoteArguments(command)} >/dev/null 2>&1`);
const hold = (...words: string[]) => [...gpuctlCommand(), "sim", "hold", "--gpu", "0", ...words];
const inShell = (script: string) => ["/bin/sh", "-c", script];

/** Runs a job under `gpuctl diff --json` and gives its report with how the program ended. */
async function diff(
  sim: SimulatedServer,
  command: readonly string[],
  options: readonly string[] = [],
  input = "",
) {
  using folder = temporaryFolder();
  const path = `${folder.path}/report.json`;
  const words = ["diff", "--json", "-o", path, ...options, "--", ...command];
  const ended = await sim.run(words, { input, within: 60_000 });
  const report: Report | undefined = existsSync(path) ? parseDocument(readFileSync(path, "utf8")) : undefined;
  return { ...ended, report };
}

function reported(
  { report, stderr }: { readonly report: Report | undefined; readonly stderr: string },
): Report {
  assert.ok(report, `no report was written: ${stderr}`);
  return report;
}

test("diff says released when a job in a shell gives its memory back", async () => {
  await using sim = await startSim({ gpus: 2 });
  const ended = await diff(
    sim,
    inShell(`${quoteArguments(hold("--bytes", "2GiB", "--for", "600ms"))}; exit 0`),
  );
  const report = reported(ended);
  const [first, second] = report.gpus;

  assert.equal(ended.status, 0);
  assert.match(ended.stdout, /^ready \d+\n$/);
  assert.equal(ended.stderr, "");
  assert.equal(report.schema, "gpuctl.diff/1");
  assert.deepEqual([first?.verdict, second?.verdict, report.verdict], ["released", "unchanged", "released"]);
  assert.deepEqual([first?.beforeBytes, first?.afterBytes, first?.leftBytes], [0, 0, 0]);
  assert.ok(first && first.peakBytes >= 2 * GIB);
  assert.equal(Object.values(report.processes[0]?.peakBytes ?? {}).length, 1);
  assert.deepEqual(report.leftovers, []);
});

test("diff runs a job in Python, with its input, its output and its environment untouched", async () => {
  await using sim = await startSim({ gpus: 1 });
  const script =
    "import os, sys; sys.stdout.write(sys.stdin.read().upper() + os.environ['HOME'][:5]); sys.exit(4)";
  const ended = await diff(sim, ["python3", "-c", script], [], "hello ");

  assert.equal(ended.stdout, "HELLO /tmp/");
  assert.equal(ended.status, 4);
  assert.deepEqual([reported(ended).status, reported(ended).verdict], [4, "unchanged"]);
});

test("diff is 10 when a job succeeds and leaves a forked child with its memory behind", async () => {
  await using sim = await startSim({ gpus: 1 });
  const job = hold("--bytes", "2GiB", "--scene", "forked-child", "--clean-exit", "--for", "40s");
  const ended = await diff(sim, quietly(job), ["--settle", "1s"]);
  const report = reported(ended);

  assert.equal(ended.status, 10);
  assert.equal(report.verdict, "held");
  assert.deepEqual(report.leftovers.map(({ class: kind, ofJob }) => [kind, ofJob]), [["inherited", true]]);
  assert.ok((report.gpus[0]?.leftBytes ?? 0) >= 2 * GIB);
});

test("diff takes another status for a leak, and none at all", async () => {
  await using sim = await startSim({ gpus: 1 });
  const job = quietly(hold("--scene", "forked-child", "--clean-exit", "--for", "40s"));

  assert.equal((await diff(sim, job, ["--settle", "200ms", "--leak-exit-code", "77"])).status, 77);
  assert.equal((await diff(sim, job, ["--settle", "200ms", "--leak-exit-code", "0"])).status, 0);
});

test("diff knows a daemon that a double fork and setsid have taken away from the job", async () => {
  await using sim = await startSim({ gpus: 1 });
  const daemon = quoteArguments(hold("--bytes", "1GiB", "--for", "40s"));
  const script =
    `(setsid ${daemon} >ready 2>&1 </dev/null &) ; until grep -q ready ready; do sleep 0.02; done`;
  const ended = await diff(sim, inShell(script), ["--settle", "1s"]);
  const report = reported(ended);

  assert.equal(ended.status, 10);
  assert.equal(report.verdict, "held");
  assert.deepEqual(report.leftovers.map(({ ofJob }) => ofJob), [true]);
});

test("diff ends what the job left when asked, proves that the memory came back, and still fails the build", async () => {
  await using sim = await startSim({ gpus: 1 });
  await using neighbour = await sim.hold({ bytes: "3GiB" });
  const job = hold("--bytes", "2GiB", "--scene", "spawn-orphans", "--clean-exit", "--for", "40s");
  const ended = await diff(sim, quietly(job), ["--settle", "1s", "--kill-leftovers"]);
  const { cleanup, verdict } = reported(ended);

  assert.deepEqual([ended.status, verdict], [10, "held"]);
  assert.deepEqual(cleanup?.acts.map(({ outcome }) => outcome), ["ended", "ended"]);
  assert.ok((cleanup?.freedBytes ?? 0) >= 4 * GIB);
  assert.ok(existsSync(`/proc/${neighbour.readyPid}`), "the neighbour is alive");
  assert.match(readFileSync(`${sim.folder}/audit.jsonl`, "utf8"), /"event":"intent"/);
});

test("diff keeps to the terminal that its report goes to, and says there what it waits for", async () => {
  await using sim = await startSim({ gpus: 2 });
  const command = [
    ...gpuctlCommand(),
    "diff",
    "--settle",
    "2s",
    "--",
    ...hold("--scene", "forked-child", "--for", "5s"),
  ];
  await using run = startOnTerminal([command[0] ?? "", ...command.slice(1)], {
    ...withRuntime({ env: { ...sim.env, NO_COLOR: "1" } }),
    columns: 70,
  });
  await run.ended;
  const lines = run.stdout.split("\r\n");
  assert.ok(lines.includes("gpuctl: waiting for the memory to come back, at most 2 s"), run.stdout);
  const report = lines.slice(lines.findIndex((line) => line.startsWith("SIMULATED")));
  assert.deepEqual(report.filter((line) => widthOf(line) > 70), []);
});

test("diff tells a neighbour who starts while the job runs from the job", async () => {
  await using sim = await startSim({ gpus: 1 });
  using folder = temporaryFolder();
  const go = `${folder.path}/go`;
  const script = `${
    quoteArguments(hold("--for", "300ms"))
  }; : > ${go}.asked; until [ -e ${go} ]; do sleep 0.02; done`;
  const words = ["diff", "--json", "-o", `${folder.path}/report`, "--", ...inShell(script)];
  await using program = sim.start(words);
  await until("the job to ask", () => existsSync(`${go}.asked`));
  await using _neighbour = await sim.hold({ bytes: "5GiB" });
  folder.write("go", "");
  const { status } = await program.ended;
  const report: Report = parseDocument(readFileSync(`${folder.path}/report`, "utf8"));

  assert.equal(status, 0);
  assert.equal(report.verdict, "released");
  assert.ok((report.gpus[0]?.othersBytes ?? 0) >= 5 * GIB);
});

test("diff gives the statuses of env(1) and timeout(1) for commands that end by a signal or cannot be run", async () => {
  await using sim = await startSim({ gpus: 1 });
  using folder = temporaryFolder();
  const plain = folder.write("plain", "no program");
  const cases: [readonly string[], number, RegExp][] = [
    [inShell("kill -KILL $$"), 137, /was ended by SIGKILL/],
    [inShell("kill -TERM $$"), 143, /was ended by SIGTERM/],
    [inShell("exit 255"), 255, /ended with status 255/],
    [["no-such-command"], 127, /^gpuctl: Cannot run "no-such-command": there is no such file or command\n$/],
    [[plain], 126, /^gpuctl: Cannot run ".*plain": permission denied\n$/],
  ];

  for (const [command, status, words] of cases) {
    const ended = await sim.run(["diff", "--", ...command]);
    assert.equal(ended.status, status, command.join(" "));
    assert.match(ended.stderr, words);
  }
});

test("diff ends a job that ignores SIGTERM when its time is up, with what escaped from it", async () => {
  await using sim = await startSim({ gpus: 1 });
  const stubborn = "trap '' TERM; while :; do sleep 0.1; done";
  const script = `(setsid sh -c "${stubborn}" &); ${stubborn}`;
  const ended = await diff(sim, inShell(script), ["--timeout", "300ms", "--grace", "300ms"]);
  const report = reported(ended);

  assert.equal(ended.status, 124);
  assert.deepEqual([report.timedOut, report.signal, report.lingerers], [true, "SIGKILL", []]);
});

test("diff passes SIGTERM on to the job and ends with its status", async () => {
  await using sim = await startSim({ gpus: 1 });
  const script = "trap 'echo caught; exit 33' TERM; echo ready; while :; do sleep 0.05; done";
  await using program = sim.start(["diff", "--", ...inShell(script)]);
  await program.untilOutput(/^ready$/m);
  program.send("SIGTERM");
  const ended = await program.ended;

  assert.deepEqual([ended.status, ended.stdout], [33, "ready\ncaught\n"]);
});

test("diff leaves Ctrl-C to the job, once, and outlives it to report", async () => {
  await using sim = await startSim({ gpus: 1 });
  const script = "trap 'echo interrupted' INT; echo ready; sleep 1; echo after; exit 5";
  const command = [...gpuctlCommand(), "diff", "--", ...inShell(script)] as const;
  await using program = startOnTerminal(
    [command[0] ?? "", ...command.slice(1)],
    withRuntime({ env: sim.env }),
  );
  await program.untilOutput(/^ready\r$/m);
  program.type("\x03");
  const ended = await program.ended;

  assert.equal(ended.status, 5);
  assert.equal(ended.stdout.match(/^(?:\^C)?interrupted\r$/mg)?.length, 1);
  assert.match(ended.stdout, /after[^]*ended with status 5/);
});

test("diff stops and continues with its job at Ctrl-Z, as the shell expects it", async () => {
  await using sim = await startSim({ gpus: 1 });
  const words = quoteArguments([
    ...gpuctlCommand(),
    "diff",
    "--",
    ...inShell("echo ready; sleep 0.5; exit 6"),
  ]);
  await using shell = startOnTerminal(
    ["/bin/bash", "--norc", "-i"],
    withRuntime({ env: { ...sim.env, PS1: "$ " } }),
  );
  shell.type(`${words}\n`);
  await shell.untilOutput(/^ready\r$/m);
  shell.type("\x1a");
  await shell.untilOutput(/Stopped/);
  shell.type("fg >/dev/null; echo status $?; exit\n");
  const ended = await shell.ended;

  assert.match(ended.stdout, /^status 6\r$/m);
});

test("diff gives a job in a pipeline its own end of the pipe", async () => {
  await using sim = await startSim({ gpus: 1 });
  const gpuctl = quoteArguments(gpuctlCommand());
  const script =
    `set -o pipefail; seq 100000 | ${gpuctl} diff -- cat 2>/dev/null | head -n 1; echo "\${PIPESTATUS[*]}"`;
  await using program = startProgram(["/bin/bash", "-c", script], withRuntime({ env: sim.env }));

  // cat is ended by SIGPIPE as it would be without gpuctl.
  assert.equal((await program.ended).stdout, "1\n141 141 0\n");
});

test("diff passes on descriptors that it was given, such as those of <(...)", async () => {
  await using sim = await startSim({ gpus: 1 });
  const script = `${
    quoteArguments(gpuctlCommand())
  } diff -o report -- cat <(echo substituted) /dev/fd/9 9<<< nine`;
  await using program = startProgram(["/bin/bash", "-c", script], withRuntime({ env: sim.env }));

  assert.equal((await program.ended).stdout, "substituted\nnine\n");
});

test("diff keeps its own descriptors from the job", async () => {
  await using sim = await startSim({ gpus: 1 });
  const list = "ls /proc/self/fd";
  const script = `${list}; echo; ${
    quoteArguments(gpuctlCommand())
  } diff --record samples -o report -- ${list}`;
  await using program = startProgram(["/bin/bash", "-c", script], withRuntime({ env: sim.env }));
  const [direct, under] = (await program.ended).stdout.trimEnd().split("\n\n");

  assert.equal(under, direct);
});

test("diff gives the job its arguments byte for byte", async () => {
  await using sim = await startSim({ gpus: 1 });
  const script = `${
    quoteArguments(gpuctlCommand())
  } diff -- printf '%s|' '' '-h' $'\\xe9\\xff' 'a b' -- 2>/dev/null | od -An -tx1`;
  await using program = startProgram(["/bin/bash", "-c", script], withRuntime({ env: sim.env }));

  assert.equal((await program.ended).stdout, " 7c 2d 68 7c e9 ff 7c 61 20 62 7c 2d 2d 7c\n");
});

test("diff ends with the job's status where nobody can read its report", async () => {
  await using sim = await startSim({ gpus: 1 });
  for (const closing of ["2>&-", "2>/dev/full", "2> >(exit)"]) {
    const script = `${quoteArguments(gpuctlCommand())} diff -- sh -c 'sleep 0.1; exit 7' ${closing}`;
    await using program = startProgram(["/bin/bash", "-c", script], withRuntime({ env: sim.env }));

    assert.equal((await program.ended).status, 7, closing);
  }
});

test("diff finds out that a report cannot be written before the job runs", async () => {
  await using sim = await startSim({ gpus: 1 });
  using folder = temporaryFolder();
  for (const flag of ["-o", "--report", "--record"]) {
    const ended = await sim.run([
      "diff",
      flag,
      `${folder.path}/no/such/folder`,
      "--",
      "touch",
      `${folder.path}/ran`,
    ]);

    assert.equal(ended.status, 125, flag);
    assert.match(ended.stderr, /^gpuctl: Cannot write .*\/no\/such\/folder: /);
    assert.equal(existsSync(`${folder.path}/ran`), false);
  }
});

test("diff records every sample and draws them, for their owner's eyes only", async () => {
  await using sim = await startSim({ gpus: 1 });
  using folder = temporaryFolder();
  const [record, page] = [`${folder.path}/samples.ndjson`, `${folder.path}/report.html`];
  await sim.run(["diff", "--record", record, "--report", page, "--", ...hold("--for", "400ms")]);
  const [head, ...samples] = parseDocumentLines<{ schema?: string; phase?: string }>(
    readFileSync(record, "utf8"),
  );

  assert.equal(head?.schema, "gpuctl.samples/1");
  assert.ok(samples.length > 4);
  assert.deepEqual([...new Set(samples.map(({ phase }) => phase))], ["run", "settle"]);
  assert.match(readFileSync(page, "utf8"), /^<!doctype html>[^]*<svg[^]*Simulated server/i);
  assert.deepEqual([record, page].map((path) => statSync(path).mode & 0o777), [0o600, 0o600]);
});

test("diff does not start a job when the driver hangs, and says unknown when it hangs or a GPU is lost meanwhile", async () => {
  await using hanging = await startSim({ gpus: 1, faults: "hang = true\n" });
  const refused = await hanging.run(["diff", "--deadline", "300ms", "--", "echo", "ran"]);
  assert.deepEqual([refused.status, refused.stdout], [125, ""]);
  assert.match(refused.stderr, /^gpuctl: Cannot look before the command as the driver gave no answer: /);

  for (const fault of ["hang = true\n", "[gpu.0]\nlost = true\n"]) {
    await using sim = await startSim({ gpus: 1 });
    using folder = temporaryFolder();
    const spoil = [...gpuctlCommand(), "sim", "init", sim.folder, "--faults", folder.write("faults", fault)];
    const job = `${quoteArguments(hold("--for", "300ms"))}; ${quoteArguments(spoil)}`;
    const ended = await diff(sim, inShell(job), ["--deadline", "500ms"]);
    assert.deepEqual([ended.status, reported(ended).verdict], [3, "unknown"], fault);
  }
});

test("diff never calls memory released that no process list backs", async () => {
  await using sim = await startSim({ gpus: 1, faults: '[gpu.0]\nprocess-list = "denied"\n' });
  const ended = await diff(sim, hold("--for", "200ms"));

  assert.deepEqual([ended.status, reported(ended).verdict], [3, "unknown"]);
});

test("diff waits while memory comes back, and says how long the rest takes when it may not", async () => {
  await using sim = await startSim({ gpus: 1 });
  const job = [...hold("--bytes", "8GiB", "--scene", "slow-release", "--for", "300ms")];
  const cut = await diff(sim, quietly(job), ["--settle", "1200ms"]);
  assert.deepEqual([cut.status, reported(cut).verdict, reported(cut).settleEnd], [
    10,
    "still-releasing",
    "limit",
  ]);

  await using other = await startSim({ gpus: 1 });
  const whole = await diff(other, quietly(job), ["--settle", "20s"]);
  assert.deepEqual([whole.status, reported(whole).verdict], [0, "released"]);
  assert.ok((reported(whole).gpus[0]?.releaseMs ?? 0) > 1000);
});

test("diff pins the job to a GPU by its UUID", async () => {
  await using sim = await startSim({ gpus: 3 });
  const script = 'echo "$CUDA_VISIBLE_DEVICES $CUDA_DEVICE_ORDER"';
  const ended = await sim.run(["diff", "--gpu", "1", "--pin", "--", ...inShell(script)]);
  const { gpus } = readLook(await sim.run(["snapshot", "--json"]));

  assert.equal(ended.stdout, `${gpus[1]?.uuid} PCI_BUS_ID\n`);
});

test("diff refuses a command without --, a --pin without --gpu, and a GPU that is not there", async () => {
  await using sim = await startSim({ gpus: 1 });
  const cases: [string[], number, RegExp][] = [
    [
      ["diff", "python3", "-x"],
      2,
      /Cannot use -x: gpuctl diff has no such option\n {2}hint: a command to run stands after --/,
    ],
    [["diff", "python3", "job.py"], 3, /Cannot read python3: [^]*hint: a command to run stands after --/],
    [
      ["diff", "python3", "job.py", "more"],
      2,
      /a command to run stands after --: gpuctl diff -- python job\.py/,
    ],
    [["diff"], 2, /neither a command nor two snapshots/],
    [["diff", "--"], 2, /none follows --/],
    [["diff", "--pin", "--", "true"], 2, /--pin needs --gpu/],
    [["diff", "--gpu", "7", "--", "true"], 125, /Cannot select GPU 7/],
    [["diff", "--interval", "1ms", "--", "true"], 2, /shortest interval is 10ms/],
  ];

  for (const [words, status, message] of cases) {
    const ended = await sim.run(words);
    assert.deepEqual([ended.status, ended.stdout], [status, ""], words.join(" "));
    assert.match(ended.stderr, message);
  }
});

test("diff compares two snapshots, and a snapshot with now", async () => {
  await using sim = await startSim({ gpus: 1 });
  using folder = temporaryFolder();
  const [before, after] = [`${folder.path}/before.json`, `${folder.path}/after.json`];
  await sim.run(["snapshot", "--json", "-o", before]);
  await using job = await sim.hold({ bytes: "2GiB" });
  await sim.run(["snapshot", "--json", "-o", after]);
  const same = await sim.run(["diff", before, before]);
  const files = await sim.run(["diff", "--json", before, after]);
  const now = await sim.run(["diff", before, "-"]);
  const report: Report = parseDocument(files.stdout);

  assert.deepEqual([same.status, files.status, now.status], [0, 10, 10]);
  assert.match(same.stdout, /Nothing has changed\.\n$/);
  assert.deepEqual([report.verdict, report.leftovers.map(({ pid }) => pid)], ["held", [job.readyPid]]);
  assert.match(now.stdout, new RegExp(`held by PID ${job.readyPid}`));
});

test("diff has its long name too", async () => {
  await using sim = await startSim({ gpus: 1 });

  assert.equal((await sim.run(["diff-before-after", "--", ...inShell("exit 3")])).status, 3);
});
