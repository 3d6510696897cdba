/** `gpuctl clean-zombies` on a simulated server: what it ends, what it spares, and what it tells. */
import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { compileCLibrary } from "../support/c_program.ts";
import { holdAtRest, isRunning, QUICKLY, readCleaning } from "../support/cleaning.ts";
import { quoteArguments } from "../../lib/core/text.ts";
import { gpuctlCommand } from "../support/binary.ts";
import { widthOf } from "../../lib/render/layout.ts";
import { parseDocument } from "../support/documents.ts";
import { readLook } from "../support/look.ts";
import { startProgram } from "../support/running_program.ts";
import { startSim } from "../support/sim.ts";
import { startOnTerminal } from "../support/terminal.ts";
import { until } from "../support/until.ts";

/** What one holder of a scene with 1 GiB is charged with: that and its context. */
const HELD = (1024 + 518) * 1024 ** 2;

/** Scenes with something left behind: how many acts each takes, of which class, and the options that it needs. */
const SCENES = {
  "forked-child": ["inherited", 1, []],
  "zombie-leader": ["zombie-leader", 1, []],
  "spawn-orphans": ["orphan", 2, []],
  "ipc-importer": ["orphan", 1, []],
  stopped: ["stopped", 1, ["--class", "stopped"]],
} as const;

for (const [scene, [name, count, options]] of Object.entries(SCENES)) {
  test(`gpuctl clean-zombies ends what the scene ${scene} leaves behind, and proves that the memory came back`, async () => {
    await using server = await startSim({ gpus: 1 });
    const { readyPid } = await holdAtRest(server, { scene, bytes: "1GiB" });

    const plan = readCleaning(await server.run([...QUICKLY, ...options]), 10);
    assert.equal(plan.plan, true);
    assert.deepEqual(
      plan.acts.map((
        act,
      ) => [act.class, act.outcome, act.signal, act.bytesBefore, act.bytesAfter, act.releaseMs]),
      Array(count).fill([name, "planned", null, HELD, null, null]),
    );
    assert.ok(isRunning(readyPid), "a plan has ended something");

    const done = readCleaning(await server.run([...QUICKLY, ...options, "--yes"]), 0);
    assert.equal(done.plan, false);
    assert.deepEqual(
      done.acts.map((act) => [act.pid, act.class, act.outcome, act.bytesBefore, act.bytesAfter]),
      plan.acts.map(({ pid }) => [pid, name, "ended", HELD, 0]),
    );
    assert.ok(done.acts.every(({ releaseMs }) => releaseMs !== null && releaseMs < 10_000));
    assert.ok(done.acts.every(({ pid }) => !isRunning(pid)), "what was reported as ended still runs");
    assert.deepEqual(readCleaning(await server.run([...QUICKLY]), 0).acts, []);
  });
}

test("gpuctl clean-zombies leaves a live job, a monitor, a suspended job and a nohup job alone", async () => {
  await using server = await startSim({ gpus: 1 });
  const orphan = await holdAtRest(server, { scene: "forked-child" });
  const spared = [
    await holdAtRest(server, { scene: "plain" }),
    await holdAtRest(server, { scene: "monitor" }),
    await holdAtRest(server, { scene: "stopped" }),
  ].map(({ readyPid }) => readyPid);
  const job = quoteArguments([...gpuctlCommand(), "sim", "hold", "--for", "60s"]);
  await using shell = startProgram(["sh", "-c", `nohup ${job} >out 2>err </dev/null & echo $!`], server);
  const nohup = Number((await shell.untilOutput(/^(\d+)$/m))[1]);
  await shell.ended;
  await until("the nohup job to hold memory", async () => {
    const { holders } = readLook(await server.run(["snapshot", "--json"]));
    return holders.some(({ pid }) => pid === nohup);
  });

  const { acts, kept } = readCleaning(await server.run([...QUICKLY, "--yes"]), 0);
  assert.deepEqual(acts.map(({ pid }) => pid), [orphan.readyPid]);
  assert.deepEqual(
    kept.map(({ pid, class: name }) => [pid, name]),
    [...spared, nohup].map((pid, place) => [pid, ["live", "monitor", "stopped", "detached"][place]])
      .sort(([a], [b]) => Number(a) - Number(b)),
  );
  assert.deepEqual([...spared, nohup].filter((pid) => !isRunning(pid)), []);
});

test("gpuctl clean-zombies is 10 for memory of the dead that nobody may be ended for", async () => {
  await using server = await startSim({ gpus: 2 });
  const { readyPid } = await holdAtRest(server, { scene: "forked-child" });
  const { acts, kept, ghosts } = readCleaning(
    await server.run([...QUICKLY, "--yes", "--protect", "forked"]),
    10,
  );
  assert.deepEqual(acts, []);
  const why = 'is protected by "forked"';
  assert.deepEqual(kept, [{ pid: readyPid, class: "inherited", why, spared: false }]);
  assert.deepEqual(ghosts.map(({ likelyHolders }) => likelyHolders.map(({ pid }) => pid)), [[readyPid]]);
  assert.ok(isRunning(readyPid));
});

test("gpuctl clean-zombies ends by SIGKILL what ignores SIGTERM, once the grace is over", async () => {
  await using server = await startSim({ gpus: 1 });
  using stubbornness = compileCLibrary("ignore_sigterm");
  const { readyPid } = await holdAtRest(server, {
    scene: "forked-child",
    env: { LD_PRELOAD: stubbornness.path },
  });
  const { acts } = readCleaning(await server.run([...QUICKLY, "--yes", "--grace", "300ms"]), 0);
  assert.deepEqual(
    acts.map(({ pid, signal, outcome, bytesAfter }) => [pid, signal, outcome, bytesAfter]),
    [[readyPid, "SIGKILL", "ended-by-force", 0]],
  );
});

test("gpuctl clean-zombies spares what its options leave out, and says which", async () => {
  await using server = await startSim({ gpus: 2 });
  const { readyPid } = await holdAtRest(server, { scene: "spawn-orphans" });
  const whyKept = async (options: readonly string[], expected = 0) => {
    const { acts, kept } = readCleaning(await server.run([...QUICKLY, "--yes", ...options]), expected);
    assert.deepEqual(acts, []);
    return [...new Set(kept.map(({ why }) => why))];
  };
  assert.deepEqual(await whyKept(["--min-age", "1h"], 10), ["is younger than 3600 s"]);
  assert.deepEqual(await whyKept(["--min-bytes", "100GiB"]), ["holds less than the minimum"]);
  assert.deepEqual(await whyKept(["--user", "nobody"]), ["was not asked for (--user)"]);
  assert.deepEqual(await whyKept(["--pid", "1"]), ["was not asked for (--pid)"]);
  assert.deepEqual(await whyKept(["--protect", "sim worker"]), ['is protected by "sim worker"']);
  assert.deepEqual(await whyKept(["--class", "inherited"]), ["was not asked for (--class)"]);
  assert.ok(isRunning(readyPid));
  const { status, stdout } = await server.run(["clean-zombies"]);
  assert.equal(status, 10);
  assert.match(
    stdout,
    /^Nothing may be ended yet: 2 of 2 holders left behind, spared for the reasons above\. Wait, or name with --pid/m,
  );
});

test("gpuctl clean-zombies --pid takes a young process without --min-age 0s; without it a young one is spared", async () => {
  await using server = await startSim({ gpus: 1 });
  const { readyPid } = await holdAtRest(server, { scene: "zombie-leader" });
  const words = ["clean-zombies", "--json", "--confirm", "100ms", "--yes"];
  const { kept } = readCleaning(await server.run(words), 10);
  const why = "is younger than 30 s";
  assert.deepEqual(kept, [{ pid: readyPid, class: "zombie-leader", why, spared: true }]);
  const named = readCleaning(await server.run([...words, "--pid", String(readyPid)]), 0);
  assert.deepEqual(named.acts.map(({ pid, outcome }) => [pid, outcome]), [[readyPid, "ended"]]);
});

test("gpuctl clean-zombies says to wait where who keeps memory of the dead is young", async () => {
  await using server = await startSim({ gpus: 1 });
  await holdAtRest(server, { scene: "forked-child" });
  const { status, stdout } = await server.run(["clean-zombies"]);
  assert.equal(status, 10);
  assert.match(stdout, /^Held by the dead:$/m);
  assert.match(stdout, /^Nothing may be ended yet: 1 of 1 holder left behind, /m);
});

test("gpuctl clean-zombies is 3 for a process or a user that is not there, and ends nobody for it", async () => {
  await using server = await startSim({ gpus: 1 });
  const { readyPid } = await holdAtRest(server, { scene: "forked-child" });
  const snapshot = `gpuctl snapshot --source sim:${server.folder}`;
  assert.deepEqual(await server.run([...QUICKLY, "--yes", "--pid", `${readyPid},4194000`]), {
    status: 3,
    signal: null,
    stdout: "",
    stderr:
      `gpuctl: Cannot clean up PID 4194000: there is no such process\n  hint: ${snapshot} shows who holds what\n`,
  });
  const nobody = await server.run([...QUICKLY, "--yes", "--user", "root,nosuch"]);
  assert.deepEqual([nobody.status, nobody.stderr.split("\n")[0]], [
    3,
    'gpuctl: Cannot clean up for the user "nosuch": this machine has no such user',
  ]);
  assert.ok(isRunning(readyPid));
});

test("gpuctl clean-zombies --pid says of a dead process who may keep its memory", async () => {
  await using server = await startSim({ gpus: 1 });
  const { readyPid } = await holdAtRest(server, { scene: "forked-child" });
  const { ghosts } = readLook(await server.run(["snapshot", "--json"]));
  const [dead] = ghosts;
  assert.ok(dead);
  const { status, stderr } = await server.run([...QUICKLY, "--pid", String(dead.pid)]);
  assert.deepEqual([status, stderr], [
    3,
    `gpuctl: Cannot clean up PID ${dead.pid}: it is dead, and its memory is still held\n` +
    `  hint: name who may keep it: gpuctl clean-zombies --source sim:${server.folder} --pid ${readyPid}\n`,
  ]);
});

test("gpuctl clean-zombies writes its report to a file, for its owner alone", async () => {
  await using server = await startSim({ gpus: 1 });
  const path = join(server.folder, "report.json");
  const { status, stdout } = await server.run([...QUICKLY, "-o", path]);
  assert.deepEqual([status, stdout, statSync(path).mode & 0o777], [0, "", 0o600]);
  assert.deepEqual(parseDocument<{ acts: unknown[] }>(readFileSync(path, "utf8")).acts, []);
});

test("gpuctl clean-zombies keeps to its terminal, and says there what it waits for", async () => {
  await using server = await startSim({ gpus: 1 });
  await holdAtRest(server, { scene: "forked-child" });
  const clean = [...gpuctlCommand(), "clean-zombies", "--min-age", "0s", "--confirm", "1s"] as const;
  await using run = startOnTerminal([clean[0] ?? "", ...clean.slice(1)], { ...server, columns: 60 });
  const { status } = await run.ended;
  assert.equal(status, 10);
  const lines = run.stdout.split("\r\n");
  assert.equal(lines[0], "gpuctl: waiting for the second of the two judgements, at most 1 s");
  assert.deepEqual(lines.slice(1).filter((line) => widthOf(line) > 60), []);
});

test("gpuctl clean-zombies --yes says what it waits for in lines that fit 80 columns", async () => {
  await using server = await startSim({ gpus: 1 });
  await holdAtRest(server, { scene: "forked-child" });
  const [program, ...words] = [...gpuctlCommand(), "clean-zombies", "--min-age", "0s", "--confirm", "1s"];
  assert.ok(program);
  await using run = startOnTerminal([program, ...words, "--yes"], { ...server, columns: 80 });
  assert.equal((await run.ended).status, 0);
  const waits = run.stdout.split("\r\n").filter((line) => line.startsWith("gpuctl: waiting for "));
  assert.equal(waits.length, 2);
  assert.deepEqual(waits.filter((line) => widthOf(line) > 80), []);
});

test("gpuctl clean-zombies never says clean where a GPU could not be read: 3", async () => {
  await using server = await startSim({
    gpus: 3,
    faults: '[gpu.0]\nprocess-list = "denied"\n[gpu.2]\nlost = true',
  });
  const words = ["clean-zombies", "--confirm", "100ms"];
  const { status, stdout } = await server.run(words);
  assert.equal(status, 3);
  assert.match(stdout, /^Who holds GPU 0,2 could not be read: that is not the same as nothing to clean\.$/m);
  assert.equal((await server.run([...words, "--gpu", "1"])).status, 0);
});

test("gpuctl clean-zombies tells a person what it would end, why, and what it did", async () => {
  await using server = await startSim({ gpus: 1 });
  const { readyPid } = await holdAtRest(server, { scene: "zombie-leader", bytes: "1GiB" });
  const words = ["clean-zombies", "--min-age", "0s", "--confirm", "100ms"];
  const plan = await server.run(words);
  const lines = [
    `PID ${readyPid}  zombie-leader  ${gpuctlCommand()[0]} sim worker -- job`,
    /^ {4}its main thread has ended \(state Z\); \d+ other threads live and hold everything$/m,
    "    ps shows <defunct>, and fuser and nvidia-smi show nothing",
    "  would be ended: holds 1.5 GiB",
    "1 process would be ended, holding 1.5 GiB. Nothing was done: --yes carries it out.",
  ];
  for (const line of lines) {
    assert.ok(
      typeof line === "string" ? plan.stdout.split("\n").includes(line) : line.test(plan.stdout),
      `${line} is not in\n${plan.stdout}`,
    );
  }
  const done = await server.run([...words, "--yes"]);
  assert.match(done.stdout, /^ {2}ended: 1\.5 GiB came back in \d+ ms$/m);
  assert.match(done.stdout, /^1 process ended, 1\.5 GiB came back\.\n$/m);
  const clean = await server.run(words);
  assert.match(clean.stdout, /^Nothing to clean: 0 holders, none of them left behind\.\n$/m);
});

test("gpuctl clean-zombies --quiet is silent when all is clean, and speaks when it is not", async () => {
  await using server = await startSim({ gpus: 1 });
  const words = ["clean-zombies", "--quiet", "--min-age", "0s", "--confirm", "100ms"];
  assert.deepEqual(await server.run(words), { status: 0, signal: null, stdout: "", stderr: "" });
  await holdAtRest(server, { scene: "forked-child" });
  const { status, stdout } = await server.run(words);
  assert.deepEqual([status, stdout.includes("would be ended")], [10, true]);
});

test("gpuctl clean-zombies writes one line an act with its priority to a journal, and nothing when all is clean", async () => {
  await using server = await startSim({ gpus: 1 });
  const { readyPid } = await holdAtRest(server, { scene: "forked-child", bytes: "1GiB" });
  const journal = join(server.folder, "journal");
  const clean = quoteArguments([...gpuctlCommand(), ...QUICKLY.filter((word) => word !== "--json")]);
  const script =
    'exec 2>>"$1"; export JOURNAL_STREAM="$(stat -L -c %d:%i /proc/self/fd/2)"; shift; exec "$@"';
  const run = async (...options: string[]) => {
    await using shell = startProgram([
      "sh",
      "-c",
      script,
      "sh",
      journal,
      "sh",
      "-c",
      `${clean} ${options.join(" ")}`,
    ], server);
    const { status, stdout } = await shell.ended;
    return { status, stdout, lines: readFileSync(journal, "utf8") };
  };
  const command = `inherited PID ${readyPid} (${gpuctlCommand()[0]} sim worker -- forked)`;
  const planned = await run();
  assert.deepEqual(planned, {
    status: 10,
    stdout: "",
    lines: `<6>${command} would be ended: holds 1.5 GiB\n`,
  });
  const ended = await run("--yes");
  assert.deepEqual([ended.status, ended.stdout], [0, ""]);
  const told = ended.lines.slice(planned.lines.length);
  assert.equal(told.replace(/\d+ ms/, "N ms"), `<5>${command} ended: 1.5 GiB came back in N ms\n`);
  assert.deepEqual(await run("--yes"), { ...ended });
});

test("gpuctl clean-zombies --gpu and --pid end what they name and nothing else", async () => {
  await using server = await startSim({ gpus: 2 });
  const holdOn = (gpu: number) => holdAtRest(server, { gpu, scene: "forked-child" });
  const [first, second, third] = [await holdOn(0), await holdOn(1), await holdOn(1)];
  const ended = async (...options: string[]) => {
    const { acts } = readCleaning(await server.run([...QUICKLY, "--yes", ...options]), 0);
    return acts.map(({ pid }) => pid);
  };
  assert.deepEqual(await ended("--gpu", "0"), [first.readyPid]);
  assert.deepEqual(await ended("--pid", String(third.readyPid)), [third.readyPid]);
  assert.ok(isRunning(second.readyPid));
});
