import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import process from "node:process";
import { test } from "node:test";
import { openLibc } from "../../../lib/native/libc.ts";
import { isOwnChild, noteOwnChild } from "../../../lib/proc/own_children.ts";
import { openProcessTable } from "../../../lib/proc/table.ts";
import type { Job, JobRunner } from "../../../lib/world/ports.ts";
import { openJobRunner } from "../../../lib/world/job_runner.ts";
import { compileCProgram } from "../../support/c_program.ts";
import { startProgram } from "../../support/running_program.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { until } from "../../support/until.ts";

async function openRunner(): Promise<JobRunner> {
  const processes = openProcessTable(await openLibc());
  return await openJobRunner({ processes, given: [], orphans: "adopted" });
}

function started(outcome: ReturnType<JobRunner["start"]>): Job {
  if ("message" in outcome) assert.fail(outcome.message);
  return outcome;
}

/** Runs a shell script and gives what it wrote to a file that it finds in $OUT. */
async function runScript(script: string, changes: Record<string, string> = {}) {
  using folder = temporaryFolder();
  using runner = await openRunner();
  const path = `${folder.path}/out`;
  const job = started(runner.start(["/bin/sh", "-c", script], { OUT: path, ...changes }));
  const end = await job.ended;
  return { end, written: existsSync(path) ? readFileSync(path, "utf8") : "" };
}

test("start() tells the end of a command as wait(2) does, a real-time signal too", async () => {
  assert.deepEqual((await runScript("exit 7")).end, { kind: "exited", status: 7 });
  assert.deepEqual((await runScript("kill -KILL $$")).end, { kind: "killed", signal: 9 });
  assert.deepEqual((await runScript("kill -34 $$")).end, { kind: "killed", signal: 34 });
});

test("start() gives the command our environment with the changes, each variable once", async () => {
  const { written } = await runScript('env | grep -c "^PATH=" > "$OUT"; printf %s "$PATH:$EXTRA" >> "$OUT"', {
    PATH: "/bin:/usr/bin",
    EXTRA: "ä=b",
  });

  assert.equal(written, "1\n/bin:/usr/bin:ä=b");
});

test("start() leaves SIGPIPE as programs expect it, though the runtime ignores it", async () => {
  const { written } = await runScript('grep SigIgn /proc/self/status > "$OUT"');
  const ignored = BigInt(`0x${/[0-9a-f]+$/m.exec(written)?.[0] ?? assert.fail(written)}`);

  assert.equal(ignored >> 12n & 1n, 0n);
});

test("start() runs a script without #! in the shell, also one that is found on PATH", async () => {
  using folder = temporaryFolder();
  const script = folder.write("greet", 'printf %s "$1" > "$OUT"\n');
  const { chmodSync } = await import("node:fs");
  chmodSync(script, 0o755);
  using runner = await openRunner();
  const job = started(runner.start([script, "hello there"], { OUT: `${folder.path}/out` }));

  assert.deepEqual(await job.ended, { kind: "exited", status: 0 });
  assert.equal(readFileSync(`${folder.path}/out`, "utf8"), "hello there");
});

test("start() says not found and not runnable as env(1) tells them apart", async () => {
  using folder = temporaryFolder();
  const plain = folder.write("plain", "no program");
  using runner = await openRunner();

  assert.deepEqual(runner.start(["no-such-command-anywhere"], {}), {
    kind: "not-found",
    message: 'Cannot run "no-such-command-anywhere": there is no such file or command',
  });
  assert.deepEqual(runner.start([plain], {}), {
    kind: "not-runnable",
    message: `Cannot run "${plain}": permission denied`,
  });
  assert.deepEqual(runner.start([folder.path], {}), {
    kind: "not-runnable",
    message: `Cannot run "${folder.path}": permission denied`,
  });
  assert.deepEqual(runner.start([""], {}), {
    kind: "not-found",
    message: 'Cannot run "": there is no such file or command',
  });
});

test("listDescendants() knows what escaped from the command by setsid and a double fork", async () => {
  using runner = await openRunner();
  const job = started(runner.start(["/bin/sh", "-c", "(setsid sh -c 'sleep 30 & wait' &); exit 0"], {}));
  await job.ended;
  const escaped = await until("the escaped shell and its child", () => {
    const found = runner.listDescendants().filter(({ state }) => state !== "Z");
    // A child is called as its parent is until it has become another program.
    return found.length === 2 && found.some(({ comm }) => comm === "sleep") && found;
  });

  assert.deepEqual(escaped.map(({ comm }) => comm).sort(), ["sh", "sleep"]);
  assert.equal(escaped.find(({ comm }) => comm === "sh")?.parentPid, runner.ownPid);
  for (const { pid } of escaped) process.kill(pid, "SIGKILL");
  await until("the orphans to be reaped", () => escaped.every(({ pid }) => !existsSync(`/proc/${pid}`)));
});

/** Starts itself again in the background, so many times, and ends: the last one writes to $OUT. */
const CHAIN = 'if [ $1 -gt 0 ]; then /bin/sh -c "$0" "$0" $(($1 - 1)) & else echo done > "$OUT"; fi';

test("hasDescendants() never says that nothing runs while one process after another passes the job on", async () => {
  using folder = temporaryFolder();
  using runner = await openRunner();
  const out = `${folder.path}/out`;
  const job = started(runner.start(["/bin/sh", "-c", CHAIN, CHAIN, "400"], { OUT: out }));
  await until("the last of them to end", () => {
    for (let look = 0; look < 20; look++) {
      if (runner.hasDescendants()) continue;
      assert.ok(existsSync(out), "nothing was seen running, and it was not over");
      return true;
    }
  });

  assert.deepEqual(await job.ended, { kind: "exited", status: 0 });
});

test("hasDescendants() is not outrun by processes that end before they can be looked at", async () => {
  using folder = temporaryFolder();
  using program = compileCProgram("passes_itself_on");
  using runner = await openRunner();
  const out = `${folder.path}/out`;
  await started(runner.start([program.path], { OUT: out })).ended;
  await until("it to be over", () => !runner.hasDescendants());

  assert.ok(existsSync(out), "it was taken for over while it ran");
});

test("the runner reaps orphans that end while the command runs, however many there are", async () => {
  using runner = await openRunner();
  const script = "i=0; while [ $i -lt 60 ]; do (sleep 0.05 &); i=$((i + 1)); done; sleep 0.3; ";
  const zombies = () =>
    runner.listDescendants().filter(({ state, parentPid }) => state === "Z" && parentPid === runner.ownPid);
  await started(runner.start(["/bin/sh", "-c", script], {})).ended;

  await until("all orphans to be reaped", () => zombies().length === 0);
});

test("listDescendants() leaves out what this program has started for itself", async () => {
  using runner = await openRunner();
  await using helper = startProgram(["/bin/sh", "-c", "echo ready; read line"], { input: { isOpen: true } });
  await helper.untilOutput(/ready/);
  assert.ok(runner.listDescendants().some(({ pid }) => pid === helper.pid));
  noteOwnChild(helper.pid, helper.ended);

  assert.equal(runner.listDescendants().some(({ pid }) => pid === helper.pid), false);
  helper.endInput();
  await helper.ended;
  await until("it to be forgotten", () => !isOwnChild(helper.pid));
});

test("start() listens for children once, however often it is called, and not after it was disposed of", async () => {
  const before = process.listenerCount("SIGCHLD");
  {
    using runner = await openRunner();
    runner.start(["no-such-command-anywhere"], {});
    runner.start(["no-such-command-anywhere"], {});
    assert.equal(process.listenerCount("SIGCHLD"), before + 1);
  }

  assert.equal(process.listenerCount("SIGCHLD"), before);
});

test("send() passes a signal on, and does nothing once the command has ended", async () => {
  using folder = temporaryFolder();
  using runner = await openRunner();
  const ready = `${folder.path}/ready`;
  const script = `trap 'exit 9' USR1; : > '${ready}'; while :; do sleep 0.05; done`;
  const job = started(runner.start(["/bin/sh", "-c", script], {}));
  await until("the trap to be set", () => existsSync(ready));
  job.send("SIGUSR1");

  assert.deepEqual(await job.ended, { kind: "exited", status: 9 });
  job.send("SIGTERM");
});
