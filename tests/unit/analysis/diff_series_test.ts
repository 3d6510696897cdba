import assert from "node:assert/strict";
import { test } from "node:test";
import { MemorySeries } from "../../../lib/analysis/diff_series.ts";
import { pid } from "../../../lib/core/ids.ts";
import type { JobSample } from "../../../lib/model/job_sample.ts";
import { MIB, sampleOf } from "../../support/job_story.ts";
import { type ProcessSpec, uuidOf } from "../../support/machine.ts";

const at = (id: number, mib: number): ProcessSpec => ({ pid: id, touch: "context", mib });

function look(ms: number, processes: readonly ProcessSpec[]): JobSample {
  return { phase: "run", ...sampleOf([ms, { processes }]), isJobs: (id) => id >= 900 };
}

function seriesOf(samples: readonly JobSample[]) {
  const series = new MemorySeries();
  for (const sample of samples) series.add(sample);
  const gpu = series.gpus.get(uuidOf(0));
  assert.ok(gpu);
  return { series, gpu };
}

test("MemorySeries keeps the highest value of each slot, others and each process apart", () => {
  const { series, gpu } = seriesOf([
    look(0, [at(300, 10), at(900, 20)]),
    look(15, [at(900, 30)]),
    look(45, []),
  ]);

  assert.deepEqual([series.slot, series.lastAt], [20, 45]);
  assert.deepEqual([...gpu.total.slice(0, 3)], [30 * MIB, NaN, 0]);
  assert.deepEqual([...gpu.others.slice(0, 3)], [10 * MIB, NaN, 0]);
  assert.deepEqual([...gpu.processes.get(pid(900))?.slice(0, 3) ?? []], [30 * MIB, NaN, NaN]);
});

test("MemorySeries makes slots longer instead of more, and loses no peak by it", () => {
  const { series, gpu } = seriesOf([look(5, [at(900, 77)]), look(60_000, [at(900, 5)])]);

  assert.equal(series.slot, 160);
  assert.equal(gpu.total.length, 600);
  assert.equal(gpu.total[0], 77 * MIB);
  assert.equal(gpu.total[375], 5 * MIB);
});

test("MemorySeries leaves nothing behind in the slots that it makes free", () => {
  const { series, gpu } = seriesOf([look(11_990, [at(900, 77)]), look(12_010, [at(900, 5)])]);

  assert.equal(series.slot, 40);
  assert.deepEqual([gpu.total[299], gpu.total[300], gpu.total[599]], [77 * MIB, 5 * MIB, NaN]);
});

test("MemorySeries takes the processes of a large job together beyond the first 24", () => {
  const { gpu } = seriesOf([look(0, Array.from({ length: 30 }, (_, place) => at(900 + place, 10)))]);

  assert.equal(gpu.processes.size, 24);
  assert.equal(gpu.rest[0], 60 * MIB);
});
