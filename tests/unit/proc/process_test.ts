import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync, readlinkSync } from "node:fs";
import process from "node:process";
import { pid, uid } from "../../../lib/core/ids.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import { openLibc } from "../../../lib/native/libc.ts";
import { parseCgroup } from "../../../lib/proc/cgroup.ts";
import { readProcess } from "../../../lib/proc/process.ts";
import { findStat } from "../../../lib/proc/stat.ts";
import { openStage } from "../../support/actor.ts";
import { asNobody, NEEDS_ROOT } from "../../support/as_nobody.ts";
import { openProcessCalls, STAND_INS, standInRecogniser, UVM_NODE } from "../../support/proc_calls.ts";

const NEVER = { late: () => new Promise(() => {}) };

test("readProcess() reads everything of a real process", NEEDS_ROOT, async () => {
  using libc = await openLibc();
  using calls = openProcessCalls(libc);
  using stage = openStage();
  const acts = ["map", STAND_INS.uvm, "ignore-hangup", "name", "nvidia-smi", "thread"];
  await using actor = await stage.start(acts, { env: { CUDA_VISIBLE_DEVICES: "1", HOME: "/" } });
  const read = await readProcess(actor.identity.pid, { calls, recogniser: standInRecogniser, ...NEVER });
  const stat = findStat(`/proc/${actor.pid}`);
  const link = (name: string) => readlinkSync(`/proc/${actor.pid}/${name}`);
  assert.deepEqual(read, {
    process: {
      ...stat,
      comm: "nvidia-smi",
      parentPid: process.pid,
      uid: known(uid(0)),
      user: known("root"),
      argv: known([stage.program, ...acts]),
      executable: known(stage.program),
      owner: known(parseCgroup(readFileSync("/proc/self/cgroup", "utf8"))),
      environment: known(new Map([["CUDA_VISIBLE_DEVICES", "1"]])),
      namespacePids: known([actor.pid]),
      pidNamespace: known(readlinkSync("/proc/self/ns/pid")),
      ignoresHangup: known(true),
      stdio: known({
        input: link("fd/0"),
        output: link("fd/1"),
        error: link("fd/2"),
        isOutputBroken: known(false),
      }),
      threadStates: known(["S", "S"]),
      waitsIn: absent("not-asked", "no thread is in state D"),
    },
    mappings: known([{ node: UVM_NODE, lines: 1 }]),
  });
});

test("readProcess() reads a process whose main thread is dead through one that lives", async () => {
  using libc = await openLibc();
  using calls = openProcessCalls(libc);
  using stage = openStage();
  const acts = ["map", STAND_INS.uvm, "end-main"];
  await using actor = await stage.start(acts, { env: { LOCAL_RANK: "3" } });
  const read = await readProcess(actor.identity.pid, { calls, recogniser: standInRecogniser, ...NEVER });
  const { pid, state, threads, argv, executable, environment, threadStates, namespacePids } = read?.process ??
    {};
  assert.deepEqual({ pid, state, threads, argv, executable, environment, threadStates, namespacePids }, {
    pid: actor.pid,
    state: "Z",
    threads: 2,
    argv: known([stage.program, ...acts]),
    executable: known(stage.program),
    environment: known(new Map([["LOCAL_RANK", "3"]])),
    threadStates: known(["Z", "S"]),
    namespacePids: known([actor.pid]),
  });
  assert.deepEqual(read?.mappings, known([{ node: UVM_NODE, lines: 1 }]));
});

test("readProcess() does not make an empty environment of a zombie's", async () => {
  using libc = await openLibc();
  using calls = openProcessCalls(libc);
  using stage = openStage();
  await using actor = await stage.start(["zombie"]);
  assert.ok(actor.child);
  const read = await readProcess(actor.child, { calls, recogniser: standInRecogniser, ...NEVER });
  const { state, argv, environment, executable } = read?.process ?? {};
  const exited = absent("exited");
  assert.deepEqual({ state, argv, environment, executable, mappings: read?.mappings }, {
    state: "Z",
    argv: exited,
    environment: exited,
    executable: exited,
    mappings: exited,
  });
});

test("readProcess() knows a kernel thread", NEEDS_ROOT, async () => {
  using libc = await openLibc();
  using calls = openProcessCalls(libc);
  const read = await readProcess(pid(2), { calls, recogniser: undefined, ...NEVER });
  const { comm, isKernelThread, argv, executable } = read?.process ?? {};
  assert.deepEqual({ comm, isKernelThread, argv, executable }, {
    comm: "kthreadd",
    isKernelThread: true,
    argv: known([]),
    executable: absent("not-supported", "a kernel thread runs no file"),
  });
});

test(
  "readProcess() gives what everybody may see of another user's process, and says what not",
  NEEDS_ROOT,
  async () => {
    using libc = await openLibc();
    using calls = openProcessCalls(libc);
    using stage = openStage();
    await using actor = await stage.start(["thread"]);
    const read = await asNobody(
      libc,
      () => readProcess(actor.identity.pid, { calls, recogniser: standInRecogniser, ...NEVER }),
    );
    const { uid: owner, argv, threadStates, environment, executable, pidNamespace, stdio } = read?.process ??
      {};
    assert.deepEqual({ owner, argv, threadStates }, {
      owner: known(uid(0)),
      argv: known([stage.program, "thread"]),
      threadStates: known(["S", "S"]),
    });
    const hidden = [environment, executable, pidNamespace, stdio, read?.mappings];
    assert.deepEqual(hidden.map((each) => each && !each.ok && each.why), Array(5).fill("no-permission"));
  },
);

test("readProcess() finds nothing once the process is gone", async () => {
  using libc = await openLibc();
  using calls = openProcessCalls(libc);
  assert.equal(await readProcess(pid(4_194_304), { calls, recogniser: undefined, ...NEVER }), undefined);
});

test("readProcess() copes with processes that vanish while it reads", async () => {
  using libc = await openLibc();
  using calls = openProcessCalls(libc);
  using stage = openStage();
  await using actor = await stage.start(["thread"]);
  const reads = Array.from({ length: 200 }, () => {
    actor.send("SIGKILL");
    return readProcess(actor.identity.pid, { calls, recogniser: standInRecogniser, ...NEVER });
  });
  for (const read of await Promise.all(reads)) {
    assert.ok(read === undefined || read.process.startTicks === actor.identity.startTicks);
  }
});
