/** `gpuctl reset-gpu` on a simulated server, whose jobs are real processes. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gpuctlCommand, runGpuctl } from "../support/binary.ts";
import { NEEDS_ROOT } from "../support/as_nobody.ts";
import { isRunning, untilAtRest } from "../support/cleaning.ts";
import { readLook } from "../support/look.ts";
import { readReset, readStepRecords, statesOf } from "../support/resetting.ts";
import { runProgram } from "../support/running_program.ts";
import { type SimulatedServer, startSim } from "../support/sim.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { startOnTerminal } from "../support/terminal.ts";
import { until } from "../support/until.ts";

const RESET = ["reset-gpu", "--json"] as const;
const DONE = [
  "close-helper done",
  "persistence-off done",
  "reset done",
  "persistence-on done",
  "read-again done",
];
const GIBIBYTE = 1024 ** 3;
/** What a job holds beside its 2 GiB. */
const CONTEXT = 518 * 1024 ** 2;

/** What the server has for persistence mode of a GPU. */
function persistenceOf({ folder }: SimulatedServer, index: number): unknown {
  return JSON.parse(readFileSync(join(folder, "server.json"), "utf8")).faults.gpu?.[index]?.persistence;
}

test("gpuctl reset-gpu takes a fault away, and persistence mode is on afterwards", NEEDS_ROOT, async () => {
  await using server = await startSim({
    gpus: 2,
    faults: '[gpu.1]\nrecovery-action = "reset"\nunattributed = "3GiB"\n',
  });
  const reset = readReset(await server.run([...RESET, "1", "--yes"]), 0);
  assert.deepEqual([reset.outcome, reset.warranted, statesOf(reset)], ["done", true, DONE]);
  assert.deepEqual(
    reset.gpus.map(({ index, back, memoryUsedBeforeBytes, memoryUsedAfterBytes }) => [
      index,
      back,
      memoryUsedBeforeBytes,
      memoryUsedAfterBytes,
    ]),
    [[1, true, 3 * GIBIBYTE, 0]],
  );
  assert.deepEqual([persistenceOf(server, 0), persistenceOf(server, 1)], [undefined, true]);
  const after = readLook(await server.run(["snapshot", "--json"]));
  assert.deepEqual(after.gpus.map(({ recoveryAction }) => recoveryAction), ["none", "none"]);
  assert.equal(readStepRecords(join(server.folder, "audit.jsonl")).length, 8);
});

test("gpuctl reset-gpu says on a terminal which step it is at", NEEDS_ROOT, async () => {
  await using server = await startSim({ gpus: 1 });
  const reset = [...gpuctlCommand(), "reset-gpu", "0", "--yes"] as const;
  await using run = startOnTerminal([reset[0] ?? "", ...reset.slice(1)], server);
  await run.ended;
  const lines = run.stdout.split("\r\n");
  const told = [
    "gpuctl: close gpuctl's own helper",
    "gpuctl: switch persistence mode of GPU 0 off",
    "gpuctl: reset GPU 0",
    "gpuctl: switch persistence mode of GPU 0 on again",
    "gpuctl: read GPU 0 again: is it back, and healthy?",
  ];
  assert.deepEqual(lines.slice(0, told.length), told);
  assert.deepEqual(lines.slice(told.length).filter((line) => line.startsWith("gpuctl: ")), []);
});

test(
  "gpuctl reset-gpu only plans without --yes, and says that it is a simulated server",
  NEEDS_ROOT,
  async () => {
    await using server = await startSim({ gpus: 1 });
    const { status, stdout, stderr } = await server.run(["reset-gpu", "0"]);
    assert.deepEqual([status, stderr], [10, ""]);
    assert.match(stdout, /simulated/i);
    assert.match(stdout, /^Nothing was done: --yes carries it out\.$/m);
    assert.deepEqual([persistenceOf(server, 0), readStepRecords(join(server.folder, "audit.jsonl"))], [
      undefined,
      [],
    ]);
  },
);

test(
  "gpuctl reset-gpu is blocked by a job at work, and ends nobody, --evict or not",
  NEEDS_ROOT,
  async () => {
    await using server = await startSim({ gpus: 1 });
    const hold = await server.hold({ scene: "plain" });
    for (const flags of [[], ["--evict"], ["--evict", "--pid", String(hold.readyPid)]]) {
      const reset = readReset(await server.run([...RESET, "0", "--yes", ...flags]), 5);
      assert.deepEqual([reset.outcome, reset.steps], ["blocked", []]);
      assert.equal(
        reset.blockers.some(({ pid, clearedBy }) => pid === hold.readyPid && clearedBy === "nobody"),
        true,
      );
    }
    assert.equal(isRunning(hold.readyPid), true);
  },
);

test(
  "gpuctl reset-gpu --evict ends the child that keeps a dead process's memory, and then resets",
  NEEDS_ROOT,
  async () => {
    await using server = await startSim({ gpus: 1 });
    const { readyPid } = await server.hold({ scene: "forked-child" });
    await untilAtRest(readyPid);
    // It is younger than what is ended unnamed.
    const args = [...RESET, "0", "--yes", "--confirm", "100ms", "--pid", String(readyPid), "--evict"];
    const reset = readReset(await server.run(args), 0);
    assert.deepEqual([reset.outcome, statesOf(reset)], ["done", ["evict done", ...DONE]]);
    assert.equal(reset.gpus[0]?.advice, "end-processes");
    assert.deepEqual([reset.gpus[0]?.memoryUsedBeforeBytes, reset.gpus[0]?.memoryUsedAfterBytes], [
      2 * GIBIBYTE + CONTEXT,
      0,
    ]);
    assert.equal(isRunning(readyPid), false);
  },
);

test("gpuctl reset-gpu --evict leaves alone what is protected, and is blocked", NEEDS_ROOT, async () => {
  await using server = await startSim({ gpus: 1 });
  const { readyPid } = await server.hold({ scene: "forked-child" });
  await untilAtRest(readyPid);
  const args = [
    ...RESET,
    "0",
    "--yes",
    "--confirm",
    "100ms",
    "--pid",
    String(readyPid),
    "--evict",
    "--protect",
    "sim",
  ];
  assert.equal(readReset(await server.run(args), 5).outcome, "blocked");
  assert.equal(isRunning(readyPid), true);
});

test(
  "gpuctl reset-gpu --stop-services stops the monitor that has the GPU open, and starts it again",
  NEEDS_ROOT,
  async () => {
    await using server = await startSim({ gpus: 1 });
    const { readyPid } = await server.hold({ scene: "monitor" });
    await setFaults(server, `[[services]]\nunit = "nvidia-dcgm.service"\nmain-pid = ${readyPid}\n`);
    const blocked = readReset(await server.run([...RESET, "0", "--yes"]), 5);
    assert.deepEqual(
      blocked.blockers.filter(({ pid }) => pid === readyPid).map(({ clearedBy }) => clearedBy),
      [
        "stop-services",
      ],
    );
    assert.equal(isRunning(readyPid), true);

    const reset = readReset(await server.run([...RESET, "0", "--yes", "--stop-services"]), 0);
    assert.deepEqual(statesOf(reset), [
      "stop-service nvidia-dcgm.service done",
      ...DONE.slice(0, 4),
      "start-service nvidia-dcgm.service done",
      "read-again done",
    ]);
    assert.equal(isRunning(readyPid), false);
    assert.equal(servicesOf(server)[0]?.active, true);
  },
);

test("gpuctl reset-gpu does not reset a GPU that it was started with open itself", NEEDS_ROOT, async () => {
  await using server = await startSim({ gpus: 1 });
  const node = join(server.folder, "dev", "nvidia0");
  const words = [...gpuctlCommand(), ...RESET, "0", "--yes", "--source", `sim:${server.folder}`];
  const ended = await runProgram(["sh", "-c", 'exec 9< "$0" && exec "$@"', node, ...words]);
  const reset = readReset(ended, 5);
  assert.deepEqual(reset.outcome, "blocked");
  assert.deepEqual(
    reset.blockers.filter(({ kind }) => kind === "opener").map(({ clearedBy }) => clearedBy),
    ["nobody"],
  );
});

test("gpuctl reset-gpu takes MIG instances away", NEEDS_ROOT, async () => {
  await using server = await startSim({
    gpus: 1,
    faults: '[[gpu.0.mig]]\ngpu-instance = 1\nprofile = "1g.10gb"\nmemory = "10GiB"\n',
  });
  const plan = readReset(await server.run([...RESET, "0"]), 10);
  assert.deepEqual(plan.blockers.filter(({ kind }) => kind === "mig").map(({ clearedBy }) => clearedBy), [
    "warning",
  ]);
  assert.equal(readReset(await server.run([...RESET, "0", "--yes"]), 0).outcome, "done");
  assert.deepEqual(
    readLook(await server.run(["snapshot", "--json"])).gpus.map(({ migInstances }) => migInstances),
    [
      [],
    ],
  );
});

test(
  "gpuctl reset-gpu resets linked GPUs of before Ampere in one command, and none of them alone",
  NEEDS_ROOT,
  async () => {
    const linked = (own: number, peer: number) =>
      `[gpu.${own}]\narchitecture = "Volta"\nnvlink-peers = [${peer}]\n`;
    await using server = await startSim({ gpus: 3, faults: linked(0, 2) + linked(2, 0) });
    const alone = readReset(await server.run([...RESET, "0", "--yes"]), 5);
    assert.deepEqual(
      alone.blockers.filter(({ clearedBy }) => clearedBy === "nobody").map(({ kind }) => kind),
      [
        "nvlink-peer",
      ],
    );
    const both = readReset(await server.run([...RESET, "0", "2", "--yes"]), 0);
    assert.deepEqual(both.steps.filter(({ kind }) => kind === "reset").length, 1);
    assert.deepEqual(both.gpus.map(({ index, back }) => [index, back]), [[0, true], [2, true]]);
  },
);

test(
  "gpuctl reset-gpu says of a lost GPU that only a reboot helps, and begins nothing",
  NEEDS_ROOT,
  async () => {
    await using server = await startSim({ gpus: 2, faults: "[gpu.1]\nlost = true\n" });
    const plan = readReset(await server.run([...RESET, "1"]), 10);
    assert.deepEqual([plan.gpus.map(({ advice }) => advice), plan.warranted, plan.steps], [
      ["reboot"],
      false,
      [],
    ]);
    assert.equal(readReset(await server.run([...RESET, "1", "--yes"]), 5).outcome, "blocked");
    const { status, stderr } = await server.run([...RESET, "0-2"]);
    assert.deepEqual([status, stderr.split("\n")[0]], [
      3,
      "gpuctl: Cannot select GPU 2: this machine has GPU 0",
    ]);
  },
);

test("gpuctl reset-gpu is refused while a cleaning or another reset is at work", NEEDS_ROOT, async () => {
  await using server = await startSim({ gpus: 1 });
  const { readyPid } = await server.hold({ scene: "forked-child" });
  await untilAtRest(readyPid);
  await using _first = server.start([
    ...RESET,
    "0",
    "--yes",
    "--pid",
    String(readyPid),
    "--evict",
    "--confirm",
    "20s",
  ]);
  const log = join(server.folder, "audit.jsonl");
  await until("the first run to have begun", () => readStepRecords(log).length > 0);
  for (const command of [[...RESET, "0", "--yes"], ["clean-zombies", "--yes"]]) {
    const { status, stdout, stderr } = await server.run(command);
    assert.deepEqual([status, stdout, stderr], [
      5,
      "",
      "gpuctl: Cannot begin: another gpuctl clean-zombies or reset-gpu is at work\n  hint: wait until it has ended\n",
    ]);
  }
  assert.equal((await server.run([...RESET, "0"])).status, 10);
});

test(
  "gpuctl reset-gpu --evict ends nobody when a signal comes between its two looks",
  NEEDS_ROOT,
  async () => {
    await using server = await startSim({ gpus: 1 });
    const { readyPid } = await server.hold({ scene: "forked-child" });
    await untilAtRest(readyPid);
    await using program = server.start([
      ...RESET,
      "0",
      "--yes",
      "--pid",
      String(readyPid),
      "--evict",
      "--confirm",
      "1s",
    ]);
    const log = join(server.folder, "audit.jsonl");
    await until("the run to have begun", () => readStepRecords(log).length > 0);
    program.send("SIGTERM");
    const reset = readReset(await program.ended, 6);
    assert.deepEqual([reset.outcome, new Set(statesOf(reset).map((step) => step.split(" ")[1]))], [
      "interrupted",
      new Set(["skipped"]),
    ]);
    assert.deepEqual([isRunning(readyPid), persistenceOf(server, 0)], [true, undefined]);
  },
);

test("gpuctl reset-gpu writes one line an act to the journal, at its priority", NEEDS_ROOT, async () => {
  await using server = await startSim({ gpus: 1 });
  using folder = temporaryFolder();
  const inJournal = async (words: readonly string[]) => {
    const path = join(folder.path, words.join("").replaceAll("/", ""));
    const script =
      'exec 2>>"$1"; export JOURNAL_STREAM="$(stat -L -c %d:%i /proc/self/fd/2)"; shift; exec "$@"';
    const { status, stdout } = await runProgram(
      ["/bin/sh", "-c", script, "sh", path, ...gpuctlCommand(), "reset-gpu", ...words],
      { env: server.env },
    );
    return { status, stdout, lines: readFileSync(path, "utf8").trimEnd().split("\n") };
  };
  const done = await inJournal(["0", "--yes"]);
  assert.deepEqual([done.status, done.stdout], [0, ""]);
  assert.deepEqual(done.lines.map((line) => line.replace(/ \(\d.*?\)/, "")), [
    "<5>close gpuctl's own helper: done",
    "<5>switch persistence mode of GPU 0 off: done",
    "<5>reset GPU 0: done",
    "<5>switch persistence mode of GPU 0 on again: done",
    "<5>read GPU 0 again: is it back, and healthy?: done",
    "<5>DONE: GPU 0 is reset, read again and healthy.",
  ]);

  const hold = await server.hold({ scene: "plain" });
  const blocked = await inJournal(["0", "--yes", "--evict"]);
  assert.deepEqual([blocked.status, blocked.stdout], [5, ""]);
  assert.match(blocked.lines[0] ?? "", new RegExp(`^<4>in the way: PID ${hold.readyPid} `));
  assert.match(blocked.lines.at(-1) ?? "", /^<4>BLOCKED: .* Nothing was begun\.$/);
});

interface Service {
  readonly unit: string;
  readonly active: boolean;
}

function servicesOf({ folder }: SimulatedServer): readonly Service[] {
  return JSON.parse(readFileSync(join(folder, "server.json"), "utf8")).faults.services;
}

/** Gives a server that stands other faults. */
async function setFaults({ folder }: SimulatedServer, faults: string): Promise<void> {
  using files = temporaryFolder();
  const { status, stderr } = await runGpuctl([
    "sim",
    "init",
    folder,
    "--faults",
    files.write("faults.toml", faults),
  ]);
  assert.deepEqual([status, stderr], [0, ""]);
}
