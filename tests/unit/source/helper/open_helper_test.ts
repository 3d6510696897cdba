/** A helper that SIGKILL does not end: no test can make a real one. */
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import assert from "node:assert/strict";
import { pid } from "../../../../lib/core/ids.ts";
import { absent } from "../../../../lib/core/reading.ts";
import { clockTicks } from "../../../../lib/core/units.ts";
import type { ProcStat } from "../../../../lib/model/process.ts";
import { openHelper } from "../../../../lib/source/helper/open_helper.ts";
import type { PipedChild } from "../../../../lib/source/helper/piped_child.ts";
import { helperOptions, within } from "../../../support/helpers.ts";
import { temporaryFolder } from "../../../support/temporary.ts";

/** A machine whose driver holds every helper in the kernel. */
class WedgedMachine {
  readonly commands: (readonly string[])[] = [];
  readonly written: string[] = [];
  readonly alive = new Set<number>();

  readonly startChild = (command: readonly string[]): PipedChild => {
    const pid = 4000 + this.commands.length;
    this.commands.push(command);
    this.alive.add(pid);
    return {
      pid,
      ended: new Promise(() => {}),
      write: (text) => void this.written.push(text),
      read: () => new Promise(() => {}),
      kill: () => {},
      release: () => {},
    };
  };

  readonly processes = {
    findProcess: (asked: number): ProcStat | undefined =>
      this.alive.has(asked)
        ? {
          pid: pid(asked),
          startTicks: clockTicks(77),
          comm: "gpuctl-helper",
          state: "D",
          parentPid: 1,
          processGroup: asked,
          session: asked,
          terminal: 0,
          threads: 1,
          cpuTicks: clockTicks(0),
          isKernelThread: false,
          isExiting: false,
        }
        : undefined,
  };
}

const SINCE = "2026-11-30T09:00:00.000Z";

test("openHelper() starts no second helper while one is stuck in the driver, in this program or the next", async () => {
  using folder = temporaryFolder();
  const machine = new WedgedMachine();
  const options = helperOptions({
    processes: machine.processes,
    records: { directory: join(folder.path, "gpuctl"), uid: process.getuid?.() ?? 0 },
  });
  const stuck = absent("timed-out", `helper 4000 has been stuck in the driver since ${SINCE}`);

  const helper = openHelper(options, machine.startChild);
  assert.deepEqual(await helper.sample(within(20)), stuck);
  assert.deepEqual(await helper.sample(within(20)), stuck);
  assert.equal(helper.pid, undefined);
  const next = openHelper(options, machine.startChild);
  assert.deepEqual(await next.sample(within(20)), stuck);
  assert.equal(machine.commands.length, 1);

  machine.alive.delete(4000);
  const later = openHelper(options, machine.startChild);
  assert.equal(later.pid, 4001);
  assert.equal(machine.commands.length, 2);
});

test("openHelper() says that a stuck helper could not be recorded, and still starts no second", async () => {
  using folder = temporaryFolder();
  const machine = new WedgedMachine();
  const directory = folder.write("file", "");
  const options = helperOptions({
    processes: machine.processes,
    records: { directory, uid: (process.getuid?.() ?? 0) + 1 },
  });
  const helper = openHelper(options, machine.startChild);
  const first = await helper.sample(within(20));
  assert.ok(!first.ok);
  assert.match(
    first.detail ?? "",
    /^helper 4000 has been stuck in the driver since \S+; this could not be recorded: /,
  );
  assert.deepEqual(
    await helper.sample(within(20)),
    absent("timed-out", `helper 4000 has been stuck in the driver since ${SINCE}`),
  );
  assert.equal(machine.commands.length, 1);
});

test("openHelper() records a helper that is stuck when it is disposed of", async () => {
  using folder = temporaryFolder();
  const machine = new WedgedMachine();
  const options = helperOptions({
    processes: machine.processes,
    records: { directory: folder.path, uid: process.getuid?.() ?? 0 },
  });
  const helper = openHelper(options, machine.startChild);
  await helper[Symbol.asyncDispose]();
  assert.deepEqual(
    await openHelper(options, machine.startChild).sample(within(20)),
    absent("timed-out", `helper 4000 has been stuck in the driver since ${SINCE}`),
  );
});

test("openHelper() starts the helper at once and has asked before sample() returns", () => {
  const machine = new WedgedMachine();
  const options = helperOptions({
    command: ["/usr/bin/gpuctl"],
    parentPid: 17,
    processes: machine.processes,
    request: { source: "sim", directory: "/srv/sim" },
  });
  const helper = openHelper(options, machine.startChild);
  assert.deepEqual(machine.commands, [[
    "/usr/bin/gpuctl",
    "helper",
    '{"protocol":"gpuctl.helper/1","parentPid":17,"source":"sim","directory":"/srv/sim"}',
  ]]);
  assert.deepEqual(machine.written, []);
  void helper.sample(within(1));
  assert.deepEqual(machine.written, ['{"protocol":"gpuctl.helper/1","id":1,"withUtilization":false}\n']);
});

test("openHelper() asks a second question only once the first is answered", async () => {
  const asked: string[] = [];
  const answers: ((part: Uint8Array) => void)[] = [];
  const answer = (id: number) =>
    answers.shift()?.(
      new TextEncoder().encode(
        `{"protocol":"gpuctl.helper/1","id":${id},"report":{"ok":false,"why":"lost"}}\n`,
      ),
    );
  const helper = openHelper(helperOptions(), () => ({
    pid: 4000,
    ended: Promise.resolve({ kind: "signal", signal: "SIGKILL" }),
    write: (text) => void asked.push(text),
    read: () => new Promise((settle) => answers.push(settle)),
    kill: () => {},
    release: () => {},
  }));
  const samples = [helper.sample(within(10_000)), helper.sample(within(10_000))];
  assert.equal(asked.length, 1);
  answer(1);
  assert.deepEqual(await samples[0], absent("lost"));
  assert.equal(asked.length, 2);
  answer(2);
  assert.deepEqual(await samples[1], absent("lost"));
});

/** A helper that answers its questions with these, in turn. */
function answering(...reports: readonly string[]) {
  const lines = reports.map((report, place) =>
    new TextEncoder().encode(`{"protocol":"gpuctl.helper/1","id":${place + 1},"report":${report}}\n`)
  );
  return openHelper(helperOptions(), () => ({
    pid: 4000,
    ended: Promise.resolve({ kind: "signal", signal: "SIGKILL" }),
    write: () => {},
    read: () => Promise.resolve(lines.shift()),
    kill: () => {},
    release: () => {},
  }));
}

test("openHelper() takes `same` for the answer before, and for nonsense where there was none", async () => {
  const helper = answering('{"ok":false,"why":"lost"}', '"same"');
  assert.deepEqual(await helper.sample(within(10_000)), absent("lost"));
  assert.deepEqual(await helper.sample(within(10_000)), absent("lost"));
  assert.deepEqual(
    await answering('"same"').sample(within(10_000)),
    absent(
      "implausible",
      "the helper process gave no answer that can be read: its first answer refers to one before",
    ),
  );
});
