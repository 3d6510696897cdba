import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import process from "node:process";
import { cString, type Libc, openLibc } from "../../../lib/native/libc.ts";
import { bindOwnProcess } from "../../../lib/native/own_process.ts";
import { bindSpawn } from "../../../lib/native/spawn.ts";
import { until } from "../../support/until.ts";

/** linux/prctl.h: what asks for what the calls set. */
const PR_GET_PDEATHSIG = 2;
const PR_GET_CHILD_SUBREAPER = 37;

function ask(libc: Libc, option: number): number | undefined {
  const answer = new Int32Array(1);
  libc.bind("prctl", { args: ["i32", "ptr", "u64", "u64", "u64"], returns: "i32" })(
    option,
    new Uint8Array(answer.buffer),
    0,
    0,
    0,
  );
  return answer[0];
}

test("OwnProcessCalls.reap() says how a child ended, once, and never waits", async () => {
  using libc = await openLibc();
  const own = bindOwnProcess(libc);
  const { spawn } = bindSpawn(libc);
  const start = (script: string) => {
    const started = spawn(
      new TextEncoder().encode("/bin/sh"),
      ["sh", "-c", script].map((word) => new TextEncoder().encode(word)),
      [],
    );
    return "pid" in started ? started.pid : NaN;
  };
  const running = start("exec sleep 100");
  assert.equal(own.reap(running), undefined);
  process.kill(running, "SIGTERM");
  assert.deepEqual(await until("it to end by a signal", () => own.reap(running)), { signal: 15 });
  const exiting = start("exit 7");
  assert.deepEqual(await until("it to end by itself", () => own.reap(exiting)), { status: 7 });
  assert.deepEqual([own.reap(exiting), own.reap(1)], [undefined, undefined]);
});

test("OwnProcessCalls.adoptOrphans() makes this process a subreaper", async () => {
  using libc = await openLibc();
  const wasSubreaper = ask(libc, PR_GET_CHILD_SUBREAPER);
  bindOwnProcess(libc).adoptOrphans();
  assert.deepEqual([wasSubreaper, ask(libc, PR_GET_CHILD_SUBREAPER)], [0, 1]);
  libc.bind("prctl", { args: ["i32", "u64", "u64", "u64", "u64"], returns: "i32" })(36, 0, 0, 0, 0);
});

test("OwnProcessCalls.endWithParent() asks for the signal", async () => {
  using libc = await openLibc();
  const own = bindOwnProcess(libc);
  own.endWithParent(10);
  assert.equal(ask(libc, PR_GET_PDEATHSIG), 10);
  own.endWithParent(0);
  assert.throws(() => own.endWithParent(4000), {
    message: "Cannot end with the parent: prctl(2) failed with errno 22",
  });
});

test("OwnProcessCalls.nameThread() names the thread that calls", async () => {
  using libc = await openLibc();
  const thread = libc.bind("gettid", { args: [], returns: "i32" })();
  const name = () => readFileSync(`/proc/self/task/${thread}/comm`, "utf8");
  const before = name().trimEnd();
  const own = bindOwnProcess(libc);
  own.nameThread("0123456789abcdefg");
  assert.equal(name(), "0123456789abcde\n");
  own.nameThread(before);
});

test("OwnProcessCalls.mapFile() maps, or says why not", async () => {
  using libc = await openLibc();
  const { mapFile } = bindOwnProcess(libc);
  const open = libc.bind("open", { args: ["ptr", "i32"], returns: "i32" });
  const descriptor = open(cString("/dev/zero"), 2);
  const count = () => readFileSync("/proc/self/maps", "utf8").match(/\/dev\/zero/g)?.length ?? 0;
  const before = count();
  mapFile(descriptor, 4096);
  assert.equal(count(), before + 1);
  assert.throws(() => mapFile(-1, 4096), {
    message: "Cannot map descriptor -1: mmap(2) failed with errno 9",
  });
  libc.bind("close", { args: ["i32"], returns: "i32" })(descriptor);
});
