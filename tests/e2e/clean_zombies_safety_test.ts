/** What `gpuctl clean-zombies` refuses, and what it leaves on record. */
import assert from "node:assert/strict";
import { chmodSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { quoteArguments } from "../../lib/core/text.ts";
import { NEEDS_ROOT } from "../support/as_nobody.ts";
import { gpuctlCommand, runGpuctl, withRuntime } from "../support/binary.ts";
import {
  type Cleaning,
  holdAtRest,
  isRunning,
  QUICKLY,
  readCleaning,
  untilAtRest,
} from "../support/cleaning.ts";
import { parseDocument, parseDocumentLines } from "../support/documents.ts";
import type { Look } from "../support/look.ts";
import { runProgram, startProgram } from "../support/running_program.ts";
import { type SimulatedServer, startSim } from "../support/sim.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";

const NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] as const;
const NAMESPACE = ["unshare", "--pid", "--fork", "--mount-proc"] as const;
const RECORD_HINT = "  hint: nothing is ended that cannot be recorded; --audit-log names another file\n";

interface AuditRecord {
  readonly schema: string;
  readonly event: string;
  readonly by: { readonly uid: number };
  readonly simulated: boolean;
  readonly act: { readonly pid: number; readonly outcome: string; readonly bytesAfter: number | null };
}

function readAudit(path: string): AuditRecord[] {
  return parseDocumentLines(readFileSync(path, "utf8"));
}

test("gpuctl clean-zombies records what it means to do before it does it, and what came of it", async () => {
  await using server = await startSim({ gpus: 1 });
  using folder = temporaryFolder();
  const log = join(folder.path, "log", "audit.jsonl");
  const { readyPid } = await holdAtRest(server, { scene: "forked-child" });
  readCleaning(await server.run([...QUICKLY, "--yes", "--audit-log", log]), 0);

  assert.deepEqual(
    readAudit(log).map(({ schema, event, by, simulated, act }) => [
      schema,
      event,
      by.uid,
      simulated,
      act.pid,
      act.outcome,
      act.bytesAfter,
    ]),
    [["intent", "planned", null], ["outcome", "ended", 0]].map(([event, outcome, bytesAfter]) => [
      "gpuctl.audit/1",
      event,
      process.getuid?.(),
      true,
      readyPid,
      outcome,
      bytesAfter,
    ]),
  );
  assert.equal((statSync(log).mode & 0o777).toString(8), "600");
});

test("gpuctl clean-zombies adds to a record that is there, and a plan adds nothing", async () => {
  await using server = await startSim({ gpus: 1 });
  const log = join(server.folder, "audit.jsonl");
  for (const count of [2, 4]) {
    await holdAtRest(server, { scene: "forked-child" });
    await server.run([...QUICKLY]);
    readCleaning(await server.run([...QUICKLY, "--yes"]), 0);
    assert.equal(readAudit(log).length, count);
  }
});

test("gpuctl clean-zombies is 5 and ends nothing when it cannot record what it would do", async () => {
  await using server = await startSim({ gpus: 1 });
  using folder = temporaryFolder();
  const { readyPid } = await holdAtRest(server, { scene: "forked-child" });
  const file = folder.write("file", "");
  const complain = async (log: string) => {
    const { status, stdout, stderr } = await server.run([...QUICKLY, "--yes", "--audit-log", log]);
    return [status, stdout, stderr];
  };
  assert.deepEqual(await complain("/dev/full"), [
    5,
    "",
    `gpuctl: Cannot record in /dev/full: no space is left on the device\n${RECORD_HINT}`,
  ]);
  assert.deepEqual(await complain(`${file}/audit.jsonl`), [
    5,
    "",
    `gpuctl: Cannot record in ${file}/audit.jsonl: Cannot use the folder ${file}: something else is there already\n${RECORD_HINT}`,
  ]);
  assert.ok(isRunning(readyPid), "something was ended without a record");
});

test("gpuctl clean-zombies is 5 while another one is at work, which a plan is not", async () => {
  await using server = await startSim({ gpus: 1 });
  const { readyPid } = await holdAtRest(server, { scene: "forked-child" });
  const words = ["clean-zombies", "--json", "--min-age", "0s", "--yes", "--confirm"];
  await using first = server.start([...words, "30s"]);
  await until("the first run to hold the lock", () => isLocked(join(server.folder, "clean-zombies.lock")));

  assert.deepEqual(await server.run([...words, "100ms"]), {
    status: 5,
    signal: null,
    stdout: "",
    stderr:
      "gpuctl: Cannot begin: another gpuctl clean-zombies or reset-gpu is at work\n  hint: wait until it has ended\n",
  });
  readCleaning(await server.run([...QUICKLY]), 10);
  assert.ok(isRunning(readyPid));
  // The kernel takes the lock back from a run that was killed.
  first.send("SIGKILL");
  await first.ended;
  readCleaning(await server.run([...words, "100ms"]), 0);
});

/** Whether somebody has a lock on a file (proc_locks(5)). */
function isLocked(path: string): boolean {
  const inode = statSync(path, { throwIfNoEntry: false })?.ino;
  return inode !== undefined && readFileSync("/proc/locks", "latin1").includes(`:${inode} `);
}

test("gpuctl clean-zombies of a user without root ends their own processes only", NEEDS_ROOT, async () => {
  await using server = await startSim({ gpus: 1 });
  using home = openHome(server);
  const run = asNobody(server, home.path);
  const roots = await holdAtRest(server, { scene: "zombie-leader" });
  await using own = startProgram(
    [...NOBODY, ...gpuctlCommand(), "sim", "hold", "--scene", "forked-child", "--for", "60s"],
    withRuntime({ env: { ...server.env, HOME: home.path }, cwd: home.path }),
  );
  const ownPid = Number((await own.untilOutput(/^ready (\d+)$/m))[1]);

  await untilAtRest(ownPid);
  const plain = await run(["snapshot", "--json"]);
  const { holders } = parseDocument<Look>(plain.stdout);
  assert.equal(holders.find(({ pid }) => pid === ownPid)?.user, "nobody");
  const { acts, kept } = readCleaning(
    await run([...QUICKLY, "--yes", "--audit-log", join(home.path, "audit.jsonl")]),
    0,
  );
  assert.deepEqual(acts.map(({ pid, outcome }) => [pid, outcome]), [[ownPid, "ended"]]);
  assert.deepEqual(kept.map(({ pid, why }) => [pid, why]), [[
    roots.readyPid,
    "belongs to root: run with sudo",
  ]]);
  assert.ok(isRunning(roots.readyPid));
});

test(
  "gpuctl clean-zombies without root says what it leaves out, and is 0 only for its user's own",
  NEEDS_ROOT,
  async () => {
    await using server = await startSim({ gpus: 1 });
    using home = openHome(server);
    await holdAtRest(server, { scene: "zombie-leader" });
    const run = asNobody(server, home.path);
    const { status, stdout } = await run(["clean-zombies", "--min-age", "0s"]);
    assert.equal(status, 0);
    assert.match(
      stdout,
      /^Note: \d+ processes of other users were not looked into: without root only your own are ended\nNothing to end: 1 of 1 holder left behind, and left alone for the reasons above\.\n$/m,
    );
    assert.doesNotMatch(stdout, /Not seen/);
  },
);

/** A home for nobody; and the server becomes theirs to look at and to lock. */
function openHome(server: SimulatedServer) {
  chmodSync(dirname(server.folder), 0o755);
  chmodSync(server.folder, 0o777);
  const home = temporaryFolder();
  chmodSync(home.path, 0o777);
  return home;
}

function asNobody({ env }: SimulatedServer, home: string) {
  return (args: readonly string[]) =>
    runProgram(
      [...NOBODY, ...gpuctlCommand(), ...args],
      withRuntime({ env: { ...env, HOME: home }, cwd: home }),
    );
}

test(
  "gpuctl clean-zombies is 5 in a PID namespace of its own: the holders are outside",
  NEEDS_ROOT,
  async () => {
    await using server = await startSim({ gpus: 1 });
    const { readyPid } = await holdAtRest(server, { scene: "forked-child" });
    const ended = await runProgram(
      [...NAMESPACE, ...gpuctlCommand(), ...QUICKLY, "--yes"],
      withRuntime({ env: server.env }),
    );
    assert.deepEqual(ended, {
      status: 5,
      signal: null,
      stdout: "",
      stderr:
        "gpuctl: Cannot clean from inside a PID namespace: processes outside it cannot be seen or told apart\n" +
        "  hint: run it on the host, or start the container with the host's PID namespace (docker run --pid=host, hostPID: true)\n",
    });
    assert.ok(isRunning(readyPid));
  },
);

test(
  "gpuctl clean-zombies works in a PID namespace in which the simulated server was made",
  NEEDS_ROOT,
  async () => {
    using folder = temporaryFolder();
    const env = { GPUCTL_SOURCE: `sim:${folder.path}/server` };
    const gpuctl = quoteArguments(gpuctlCommand());
    const plan = `${gpuctl} ${QUICKLY.join(" ")}`;
    // The shell is the first process of the namespace and takes orphans in.
    const script = `${gpuctl} sim init ${folder.path}/server >&2
    ${gpuctl} sim hold --scene forked-child --for 60s >&2
    while ${plan} | grep -q "is at work"; do :; done
    ${plan} --yes`;
    const { stdout } = await runProgram([...NAMESPACE, "sh", "-c", script], withRuntime({ env }));
    const { acts } = parseDocument<Cleaning>(stdout);
    assert.deepEqual(acts.map(({ class: name, outcome }) => [name, outcome]), [["inherited", "ended"]]);
  },
);

test("gpuctl clean-zombies is 2 for a file: nothing can be ended from one", async () => {
  const refusal = (source: string) => ({
    status: 2,
    signal: null,
    stdout: "",
    stderr: `gpuctl: Cannot end processes from ${source}: a file is no live machine\n`,
  });
  for (const source of ["look.json", "-"]) {
    assert.deepEqual(await runGpuctl(["clean-zombies", "--source", source]), refusal(source));
  }
});

test("gpuctl clean-zombies is 3 and ends nothing when the driver hangs", async () => {
  await using server = await startSim({ gpus: 1, faults: "hang = true" });
  const { readyPid } = await holdAtRest(server, { scene: "forked-child" });
  assert.deepEqual(await server.run([...QUICKLY, "--yes", "--deadline", "300ms"]), {
    status: 3,
    signal: null,
    stdout: "",
    stderr: "gpuctl: Cannot judge the holders: the driver gave no answer within 300 ms\n" +
      `  hint: gpuctl snapshot --source sim:${server.folder} shows what can be seen without it\n`,
  });
  assert.ok(isRunning(readyPid));
});
