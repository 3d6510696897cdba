import assert from "node:assert/strict";
import { test } from "node:test";
import { carryOut, type CleanWorld } from "../../../lib/action/clean.ts";
import { bytesOfActs, type ListedRow, type PlannedAct } from "../../../lib/analysis/ending.ts";
import { pid } from "../../../lib/core/ids.ts";
import { known } from "../../../lib/core/reading.ts";
import { bytes, clockTicks, milliseconds } from "../../../lib/core/units.ts";
import type { Act } from "../../../lib/model/cleanup.ts";
import { reportOf, uuidOf } from "../../support/machine.ts";

const GIB = 1024 ** 3;
const options = {
  grace: milliseconds(1000),
  settle: milliseconds(5000),
  look: { within: milliseconds(1000), withUtilization: false },
};

/** Dead processes whose rows are still listed, by the live ones that may keep them. */
function keeping(dead: number, keepers: readonly number[]): ListedRow {
  return { gpu: uuidOf(0), pid: pid(dead), used: known(bytes(5 * GIB)), keepers: keepers.map(pid) };
}

function endingOf(process: number, frees: readonly ListedRow[]): PlannedAct {
  return {
    identity: { pid: pid(process), startTicks: clockTicks(process) },
    class: "inherited",
    evidence: [],
    command: "python3 train.py",
    frees,
    bytesBefore: bytes(frees.length * 5 * GIB),
    depth: 1,
  };
}

/** A world in which SIGTERM ends everything at once, and these dead processes stay listed. */
function worldWith(stillListed: readonly number[]): CleanWorld & { readonly waited: () => number } {
  const gone = new Set<number>();
  let now = 0;
  return {
    waited: () => now,
    clock: {
      now: () => "2026-11-30T12:00:00.000Z",
      monotonic: () => milliseconds(now),
      pause: (span) => Promise.resolve(void (now += span)),
    },
    processes: {
      findProcess: (id) =>
        gone.has(id) ? undefined : {
          pid: pid(id),
          startTicks: clockTicks(id),
          comm: "python3",
          state: "S",
          parentPid: 1,
          processGroup: id,
          session: id,
          terminal: 0,
          threads: 1,
          cpuTicks: clockTicks(0),
          isKernelThread: false,
          isExiting: false,
        },
      openProcess: ({ pid: id }) => ({
        send: () => {
          gone.add(id);
          return "sent";
        },
        [Symbol.dispose]: () => {},
      }),
    },
    sampler: {
      sample: () =>
        Promise.resolve(
          known(reportOf({ processes: [], dead: stillListed.map((id) => ({ pid: id, mib: 5120 })) })),
        ),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    },
  };
}

function outcomesOf(acts: readonly Act[]): unknown {
  return acts.map(({ pid: id, outcome, bytesBefore, bytesAfter }) => [id, outcome, bytesBefore, bytesAfter]);
}

test("carryOut() is done when what nobody keeps any more is gone, though another ghost stays with its own keeper", async () => {
  const world = worldWith([21]);
  const acts = await carryOut([endingOf(10, [keeping(20, [10]), keeping(21, [10, 11])])], options, world);

  assert.deepEqual(outcomesOf(acts), [[10, "ended", 10 * GIB, 5 * GIB]]);
  assert.ok(world.waited() < 1000, `waited ${world.waited()} ms`);
});

test("carryOut() says that memory is held when every keeper has ended and it is still listed", async () => {
  const world = worldWith([20]);
  const acts = await carryOut([endingOf(10, [keeping(20, [10])])], options, world);

  assert.deepEqual(outcomesOf(acts), [[10, "memory-held", 5 * GIB, 5 * GIB]]);
  assert.ok(world.waited() >= 5000, `waited ${world.waited()} ms`);
});

test("bytesOfActs() counts once what two acts keep together", () => {
  const both = [keeping(20, [10, 11]), keeping(21, [10, 11])];

  assert.equal(bytesOfActs([endingOf(10, both), endingOf(11, both)]), 10 * GIB);
});
