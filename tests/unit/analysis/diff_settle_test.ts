import assert from "node:assert/strict";
import { test } from "node:test";
import { type SettleTerms, SettleWatch } from "../../../lib/analysis/diff_settle.ts";
import { type Look, MIB, sampleOf, TOLERANCE } from "../../support/job_story.ts";
import { type MachineSpec, reportOf, uuidOf } from "../../support/machine.ts";

const GPU = uuidOf(0);
const IDLE: MachineSpec = { processes: [] };
const used = (mib: number): MachineSpec => ({ processes: [], gpus: [{ usedMib: mib }] });
const held: MachineSpec = { processes: [{ pid: 900, touch: "context", mib: 100 }] };

function watchOver(before: MachineSpec = IDLE, terms: Partial<SettleTerms> = {}): SettleWatch {
  return new SettleWatch({
    before: reportOf(before).gpus,
    tolerance: TOLERANCE,
    isTouched: () => true,
    isJobs: (id) => id >= 900,
    ...terms,
  });
}

function statesOf(watch: SettleWatch, looks: readonly Look[]): string[] {
  return looks.map((look) => watch.add(sampleOf(look)));
}

test("SettleWatch is settled once used memory is within the tolerance of what it was", () => {
  const watch = watchOver(used(500));

  assert.deepEqual(statesOf(watch, [[0, used(2000)], [20, used(502)], [50, used(501)]]), [
    "waiting",
    "waiting",
    "settled",
  ]);
  assert.equal(watch.backAt(GPU), 50);
});

test("SettleWatch is settled at once for a GPU that the job was not seen on", () => {
  assert.deepEqual(statesOf(watchOver(IDLE, { isTouched: () => false }), [[0, used(9000)]]), ["settled"]);
});

test("SettleWatch waits for the job's own context even where nothing is in use any more", () => {
  const empty: MachineSpec = { processes: [{ pid: 900, touch: "context", mib: 0 }] };

  assert.deepEqual(statesOf(watchOver(), [[0, empty], [20, IDLE]]), ["waiting", "settled"]);
});

test("SettleWatch takes other people's changes out", () => {
  const before: MachineSpec = { processes: [{ pid: 300, touch: "context", mib: 1000 }] };
  const after: MachineSpec = { processes: [{ pid: 300, touch: "context", mib: 5000 }] };

  assert.deepEqual(statesOf(watchOver(before), [[0, after]]), ["settled"]);
});

test("SettleWatch goes by the total where the list cannot be read", () => {
  const unread = (mib: number): MachineSpec => ({
    processes: [],
    gpus: [{ list: "no-permission", usedMib: mib }],
  });

  assert.deepEqual(statesOf(watchOver(unread(10)), [[0, unread(500)], [20, unread(10)]]), [
    "waiting",
    "settled",
  ]);
});

test("SettleWatch gives loader workers the 6 s that they take to leave, and calls it stalled after 7", () => {
  const watch = watchOver();

  assert.deepEqual(statesOf(watch, [[0, held], [6000, held], [6999, held], [7000, held]]), [
    "waiting",
    "waiting",
    "waiting",
    "stalled",
  ]);
});

test("SettleWatch begins the wait anew whenever something came back", () => {
  assert.deepEqual(
    statesOf(watchOver(), [[0, used(900)], [6000, used(800)], [12_999, used(800)], [13_000, used(800)]]),
    [
      "waiting",
      "waiting",
      "waiting",
      "stalled",
    ],
  );
});

test("SettleWatch says unreadable when the driver gives no answer", () => {
  assert.deepEqual(statesOf(watchOver(), [[0, "no answer"]]), ["unreadable"]);
});

test("SettleWatch measures the rate over the last 2 s and gives none where nothing came back", () => {
  const watch = watchOver();
  statesOf(watch, [[0, used(9000)], [1000, used(7000)], [2000, used(5000)], [3000, used(3000)]]);
  assert.deepEqual(watch.rateOf(GPU), { perSecond: 2000 * MIB, over: 2000, remaining: 1500 });

  const still = watchOver();
  statesOf(still, [[0, used(9000)], [1000, used(9000)]]);
  assert.equal(still.rateOf(GPU), undefined);
});

test("SettleWatch forgets that memory was back when it is taken again", () => {
  const watch = watchOver();
  statesOf(watch, [[0, IDLE], [20, used(900)], [40, IDLE]]);

  assert.equal(watch.backAt(GPU), 40);
});
