import assert from "node:assert/strict";
import { test } from "node:test";
import { GrowthWatch } from "../../../../lib/analysis/watch/growth.ts";
import { bytes, clockTicks, type Milliseconds, milliseconds } from "../../../../lib/core/units.ts";
import type { GrowthRule } from "../../../../lib/model/watch.ts";
import { type MachineSpec, reportOf } from "../../../support/machine.ts";

const GIB = 1024 ** 3;
const MINUTE = 60_000;
const RULE: GrowthRule = {
  perHour: bytes(GIB),
  window: milliseconds(10 * MINUTE),
  warmUp: milliseconds(5 * MINUTE),
};

interface Seen {
  readonly mib: number;
  readonly startTicks?: number;
  readonly machine?: MachineSpec;
  readonly age?: Milliseconds | "unknown";
}

/** Minutes at which somebody grows, of a machine that is looked at every second. */
function grown(seen: (second: number) => Seen, seconds: number, watch = new GrowthWatch(RULE)): number[] {
  const minutes = new Set<number>();
  for (let second = 0; second <= seconds; second++) {
    const { mib, startTicks = 7, machine, age = milliseconds(second * 1000) } = seen(second);
    const { gpus } = reportOf(machine ?? { processes: [{ pid: 50, touch: "context", mib }] });
    const conditions = watch.add({
      at: milliseconds(second * 1000),
      gpus,
      findProcess: (pid) => ({
        startTicks: clockTicks(startTicks),
        age: age === "unknown" ? undefined : age,
        name: () => ({ pid, command: "python train.py" }),
      }),
    });
    if (conditions.some(({ isOver }) => isOver)) minutes.add(Math.floor(second / 60));
  }
  return [...minutes];
}

test("GrowthWatch tells of a steady leak when warm-up and window are over", () => {
  assert.equal(grown((second) => ({ mib: 1000 + second }), 20 * 60)[0], 15);
});

test("GrowthWatch says what the pace comes to, and when the GPU is full if nothing else changes", () => {
  const watch = new GrowthWatch(RULE);
  const findProcess = (pid: Parameters<Parameters<GrowthWatch["add"]>[0]["findProcess"]>[0]) => ({
    startTicks: clockTicks(7),
    age: milliseconds(3_600_000),
    name: () => ({ pid, command: "python train.py" }),
  });
  const conditions = Array.from({ length: 620 }, (_, second) =>
    watch.add({
      at: milliseconds(second * 1000),
      gpus: reportOf({ processes: [{ pid: 50, touch: "context", mib: 1024 + second }] }).gpus,
      findProcess,
    })).at(-1);
  assert.deepEqual(conditions, [{
    kind: "growth",
    key: "growth GPU-00000000-0000-4000-8000-000000000000 50",
    severity: "warning",
    gpu: { index: 0, uuid: "GPU-00000000-0000-4000-8000-000000000000" },
    process: { pid: 50, command: "python train.py" },
    isOver: true,
    after: 0,
    already: 600_000,
    message: "PID 50 (python train.py) takes 3.5 GiB more an hour on GPU 0",
    evidence: [
      "from 1 GiB to 1.6 GiB in 10 min 11 s, rising all along",
      "138 GiB are free: at this pace, if nobody else takes or frees any, full in 1 d 15 h",
    ],
    advice: "see whether it is a leak while it still fits: gpuctl snapshot --gpu 0",
  }]);
});

test("GrowthWatch takes a process of unknown age for as old as it has been seen", () => {
  assert.equal(grown((second) => ({ mib: 1000 + second, age: "unknown" }), 20 * 60)[0], 15);
});

test("GrowthWatch leaves alone who starts, who allocates once, and who grows too slowly", () => {
  assert.deepEqual(grown((second) => ({ mib: 1000 + Math.min(second, 300) * 100 }), 30 * 60), []);
  assert.deepEqual(grown((second) => ({ mib: second < 900 ? 1000 : 60_000 }), 40 * 60), []);
  assert.deepEqual(grown((second) => ({ mib: 1000 + Math.floor(second / 10) }), 40 * 60), []);
});

test("GrowthWatch begins anew with another process under the same pid", () => {
  const seen = (second: number) => ({ mib: 1000 + second, startTicks: second < 840 ? 7 : 8 });
  assert.deepEqual(grown(seen, 20 * 60), []);
});

test("GrowthWatch is well again once the growth has stopped", () => {
  const minutes = grown((second) => ({ mib: 1000 + Math.min(second, 1200) }), 40 * 60);
  assert.deepEqual([minutes[0], (minutes.at(-1) ?? 0) < 24], [15, true]);
});

test("GrowthWatch keeps no more than a window of points, and nothing of who has gone", () => {
  const watch = new GrowthWatch(RULE);
  grown((second) => ({ mib: second }), 10_000, watch);
  assert.ok(watch.size > 40 && watch.size <= 52, `${watch.size} points`);
  grown(() => ({ mib: 0, machine: { processes: [] } }), 1, watch);
  assert.equal(watch.size, 0);
});

test("GrowthWatch keeps what it has while the list cannot be read", () => {
  const watch = new GrowthWatch(RULE);
  grown((second) => ({ mib: second }), 1000, watch);
  const before = watch.size;
  grown(() => ({ mib: 0, machine: { processes: [], gpus: [{ list: "timed-out" }] } }), 1, watch);
  assert.equal(watch.size, before);
});
