import { test } from "node:test";
import assert from "node:assert/strict";
import { absent, known, mapReading } from "../../../lib/core/reading.ts";
import type { ProcStat } from "../../../lib/model/process.ts";
import { findStat } from "../../../lib/proc/stat.ts";
import { isAlive, readThreads, readWaitChannel } from "../../../lib/proc/threads.ts";
import { openStage } from "../../support/actor.ts";
import { temporaryFolder } from "../../support/temporary.ts";

function statOf(pid: number): ProcStat {
  const stat = findStat(`/proc/${pid}`);
  assert.ok(stat);
  return stat;
}

test("readThreads() gives the state of each thread, a dead main one first", async () => {
  using stage = openStage();
  await using actor = await stage.start(["thread", "end-main"]);
  const threads = readThreads(`/proc/${actor.pid}`, statOf(actor.pid));
  assert.deepEqual(mapReading(threads, (all) => all.map(({ state }) => state)), known(["Z", "S", "S"]));
  assert.deepEqual(mapReading(threads, (all) => all.map(isAlive)), known([false, true, true]));
});

test("readThreads() of one thread is the process's own state", async () => {
  using stage = openStage();
  await using actor = await stage.start(["zombie"]);
  const stat = statOf(actor.child ?? NaN);
  assert.deepEqual(readThreads(`/proc/${stat.pid}`, stat), known([{ task: stat.pid, state: "Z" }]));
});

test("readThreads() says that the process is gone", () => {
  const stat = { ...statOf(1), threads: 2 };
  assert.deepEqual(readThreads("/proc/4194304", stat), absent("exited"));
});

test("readWaitChannel() takes a wait in the driver before one for a disk", () => {
  using folder = temporaryFolder();
  for (
    const [task, place] of [[1, "folio_wait_bit"], [2, "0"], [3, "uvm_va_space_mm_shutdown"], [
      4,
      "nvidia_poll",
    ]]
  ) {
    folder.write(`task/${task}/wchan`, String(place));
  }
  const thread = (task: number, state: "D" | "S") => ({ task, state });
  assert.deepEqual(
    readWaitChannel(folder.path, [thread(1, "D"), thread(2, "D"), thread(3, "D"), thread(4, "S")]),
    known("uvm_va_space_mm_shutdown"),
  );
  assert.deepEqual(readWaitChannel(folder.path, [thread(1, "D")]), known("folio_wait_bit"));
});

test("readWaitChannel() tells nobody waiting from nowhere known", () => {
  using folder = temporaryFolder();
  folder.write("task/2/wchan", "0");
  assert.deepEqual(
    readWaitChannel(folder.path, [{ task: 2, state: "S" }]),
    absent("not-asked", "no thread is in state D"),
  );
  assert.deepEqual(
    readWaitChannel(folder.path, [{ task: 2, state: "D" }, { task: 3, state: "D" }]),
    absent("not-reported", "the kernel does not say where it waits"),
  );
});
