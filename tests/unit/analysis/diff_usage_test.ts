import assert from "node:assert/strict";
import { test } from "node:test";
import { UsageTally } from "../../../lib/analysis/diff_usage.ts";
import { pid } from "../../../lib/core/ids.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import { type Look, MIB, sampleOf, TOLERANCE } from "../../support/job_story.ts";
import { type ProcessSpec, uuidOf } from "../../support/machine.ts";

const isJobs = (id: number) => id >= 900;

function tallyOf(looks: readonly Look[]): UsageTally {
  const tally = new UsageTally(TOLERANCE);
  for (const look of looks) tally.add(sampleOf(look), isJobs);
  return tally;
}

const at = (id: number, mib: number, on = [0]): ProcessSpec => ({ pid: id, touch: "context", mib, on });

test("UsageTally keeps the peak of each GPU, of the job there, and of each of its processes", () => {
  const two = { gpus: [{}, {}] };
  const tally = tallyOf([
    [0, { ...two, processes: [at(300, 100), at(900, 1000), at(901, 50, [1])] }],
    [100, { ...two, processes: [at(300, 900), at(900, 400)] }],
    [200, { ...two, processes: [at(300, 100), at(900, 500), at(902, 700)] }],
  ]);

  assert.deepEqual(tally.useOf(uuidOf(0)), {
    peak: known(1300 * MIB),
    jobPeak: known(1200 * MIB),
    handovers: [],
  });
  assert.deepEqual(tally.useOf(uuidOf(1)), {
    peak: known(50 * MIB),
    jobPeak: known(50 * MIB),
    handovers: [],
  });
  assert.deepEqual(tally.processes.get(pid(900))?.get(uuidOf(0)), {
    peak: known(1000 * MIB),
    firstAt: 0,
    lastAt: 200,
    highSince: undefined,
  });
  assert.equal(tally.processes.has(pid(300)), false);
});

test("UsageTally counts samples without an answer apart", () => {
  const tally = tallyOf([[0, "no answer"], [100, { processes: [] }], [200, "no answer"]]);

  assert.deepEqual([tally.samples, tally.missed], [1, 2]);
});

test("UsageTally has no peak, not even 0, of a GPU that no sample had", () => {
  const reason = absent("not-reported", "no sample was read");

  assert.deepEqual(tallyOf([[0, "no answer"]]).useOf(uuidOf(0)), {
    peak: reason,
    jobPeak: reason,
    handovers: [],
  });
});

test("UsageTally has no peak of the job where the process list was never known", () => {
  const tally = tallyOf([[0, { processes: [], gpus: [{ list: "no-permission", usedMib: 70 }] }]]);

  assert.deepEqual(tally.useOf(uuidOf(0)), {
    peak: known(70 * MIB),
    jobPeak: absent("no-permission"),
    handovers: [],
  });
});

test("UsageTally keeps a peak that it knows when a later list cannot be read", () => {
  const tally = tallyOf([
    [0, { processes: [at(900, 70)] }],
    [100, { processes: [], gpus: [{ list: "timed-out", usedMib: 70 }] }],
  ]);

  assert.deepEqual(tally.useOf(uuidOf(0)).jobPeak, known(70 * MIB));
});

test("UsageTally remembers since when a process has stayed near its peak", () => {
  const use = (looks: readonly (readonly [number, number])[]) =>
    tallyOf(looks.map(([ms, mib]) => [ms, { processes: [at(900, mib)] }])).processes.get(pid(900))?.get(
      uuidOf(0),
    );

  assert.equal(use([[0, 500], [100, 4000], [200, 4000], [300, 3900]])?.highSince, 100);
  assert.equal(use([[0, 4000], [100, 1000]])?.highSince, undefined);
  assert.equal(use([[0, 4000], [100, 1000], [200, 4000]])?.highSince, 200);
});

test("UsageTally sees a handover that the driver charges some looks after the exporter went", () => {
  const tally = tallyOf([
    [100, { processes: [at(300, 518), at(900, 3590)] }],
    [200, { processes: [at(300, 518)] }],
    [220, { processes: [at(300, 3590)] }],
  ]);

  assert.deepEqual(tally.useOf(uuidOf(0)).handovers, [{ from: [900], to: 300, bytes: 3072 * MIB }]);
});

test("UsageTally takes growth long after the exporter went for no handover", () => {
  const tally = tallyOf([
    [100, { processes: [at(300, 518), at(900, 3590)] }],
    [200, { processes: [at(300, 518)] }],
    [1300, { processes: [at(300, 3590)] }],
  ]);

  assert.deepEqual(tally.useOf(uuidOf(0)).handovers, []);
});
