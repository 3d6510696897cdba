/** What signals do to `gpuctl reset-gpu`: everything is put back, and a program that resets never gets one. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import process from "node:process";
import { after, test } from "node:test";
import { NEEDS_ROOT } from "../support/as_nobody.ts";
import type { SmiOrder } from "../support/reset_smi.ts";
import {
  openResetMachines,
  readReset,
  readStepRecords,
  type ResetMachine,
  statesOf,
} from "../support/resetting.ts";
import { until } from "../support/until.ts";

const machines = openResetMachines();
after(() => machines[Symbol.dispose]());
const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGALRM"] as const;
const UNIT = "gdm.service";
const WAIT = "wait_for go";

/** A machine on which one order of nvidia-smi waits until it is told to go on, and a display has to be stopped. */
function waitingMachine(order: SmiOrder): ResetMachine {
  const bus = "00000000:10:00.0";
  const out = order === "r" ? `GPU ${bus} was successfully reset.\nAll done.\n` : "All done.\n";
  return machines.make({
    scenario: { gpus: [{ display: 1 }] },
    services: [UNIT],
    answers: { [order]: { before: WAIT, out, takesEffect: true } },
  });
}

const ARGS = ["0", "--yes", "--json", "--stop-services"] as const;

/** How each act went, and the end, when a signal comes in the middle of an order. */
const COURSES = {
  pm0: {
    status: 6,
    outcome: "interrupted",
    states: [
      "persistence-off done",
      "reset skipped",
      "persistence-on done",
      "start-service gdm.service done",
    ],
    calls: ["pm0", "pm1"],
  },
  r: {
    status: 0,
    outcome: "done",
    states: ["persistence-off done", "reset done", "persistence-on done", "start-service gdm.service done"],
    calls: ["pm0", "r", "pm1"],
  },
  pm1: {
    status: 0,
    outcome: "done",
    states: ["persistence-off done", "reset done", "persistence-on done", "start-service gdm.service done"],
    calls: ["pm0", "r", "pm1"],
  },
} as const;

for (const order of ["pm0", "r", "pm1"] as const) {
  for (const signal of SIGNALS) {
    test(
      `gpuctl reset-gpu puts all back when ${signal} comes during ${order}, which goes on`,
      NEEDS_ROOT,
      async () => {
        using machine = waitingMachine(order);
        await using program = machine.start(ARGS);
        await machine.smi.untilBegun(order);
        program.send(signal);
        program.send(signal);
        await untilCaught(program.pid);
        machine.release("go");
        const { status, outcome, states, calls } = COURSES[order];
        const reset = readReset(await program.ended, status);

        assert.equal(reset.outcome, outcome);
        assert.deepEqual(statesOf(reset).slice(2, 6), states);
        assert.deepEqual(
          machine.smi.calls().map((call) => [call.order, call.status, call.signals]),
          calls.map((name) => [name, 0, []]),
        );
        assert.deepEqual([machine.persistence(), machine.orders()], [["1"], [
          `stop ${UNIT}`,
          `start ${UNIT}`,
        ]]);
      },
    );
  }
}

for (const signal of SIGNALS) {
  test(
    `gpuctl reset-gpu starts a service again when ${signal} comes while it stops`,
    NEEDS_ROOT,
    async () => {
      const waits = 'while [ -d "$DIR" ] && [ ! -e "$DIR/release.go" ]; do sleep 0.02; done';
      using machine = machines.make({
        scenario: { gpus: [{ display: 1 }] },
        services: [UNIT],
        before: { [`stop ${UNIT}`]: waits },
      });
      await using program = machine.start(ARGS);
      await until("the service to be stopped", () => machine.orders().length > 0);
      program.send(signal);
      await untilCaught(program.pid);
      machine.release("go");
      const reset = readReset(await program.ended, 6);

      assert.equal(reset.outcome, "interrupted");
      assert.deepEqual(statesOf(reset), [
        `stop-service ${UNIT} done`,
        "close-helper skipped",
        "persistence-off skipped",
        "reset skipped",
        "persistence-on skipped",
        `start-service ${UNIT} done`,
        "read-again skipped",
      ]);
      assert.deepEqual([machine.orders(), machine.smi.calls()], [[`stop ${UNIT}`, `start ${UNIT}`], []]);
    },
  );
}

test(
  "gpuctl reset-gpu and its reset stand a key on the terminal, which signals the whole process group",
  NEEDS_ROOT,
  async () => {
    using machine = waitingMachine("r");
    await using program = machine.start(ARGS, { hasOwnSession: true });
    await machine.smi.untilBegun("r");
    for (const signal of ["SIGINT", "SIGQUIT", "SIGHUP"]) process.kill(-program.pid, signal);
    await untilCaught(program.pid);
    machine.release("go");
    assert.equal(readReset(await program.ended, 0).outcome, "done");
    assert.deepEqual(machine.smi.calls().map(({ order, status, signals }) => [order, status, signals]), [
      ["pm0", 0, []],
      ["r", 0, []],
      ["pm1", 0, []],
    ]);
  },
);

test(
  "gpuctl reset-gpu that is killed leaves a reset that goes on to its end, and a record of what it began",
  NEEDS_ROOT,
  async () => {
    using machine = waitingMachine("r");
    const program = machine.start(ARGS);
    try {
      const { pid } = await machine.smi.untilBegun("r");
      process.kill(program.pid, "SIGKILL");
      await until("gpuctl to be gone", () => program.ended);
      assert.equal(process.kill(pid, 0), true);
      machine.release("go");
      const call = await machine.smi.untilEnded("r");
      assert.deepEqual([call.status, call.signals], [0, []]);
      assert.deepEqual(readStepRecords(machine.auditLog).at(-1), "intent reset planned");
    } finally {
      await program[Symbol.asyncDispose]();
    }
  },
);

/** Waits until a process has no signal left that was sent and has not come: SigPnd and ShdPnd of proc_pid_status(5). */
async function untilCaught(pid: number): Promise<void> {
  await until(`the signals of ${pid} to have come`, () => {
    const status = readFileSync(`/proc/${pid}/status`, "latin1");
    return [...status.matchAll(/^(?:SigPnd|ShdPnd):\t(\w+)$/gm)].every(([, bits]) => /^0+$/.test(bits ?? ""));
  });
}
