import assert from "node:assert/strict";
import { test } from "node:test";
import { newlyAccounted } from "../../../lib/analysis/accounted.ts";
import { pid } from "../../../lib/core/ids.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import { bytes } from "../../../lib/core/units.ts";
import type { Gpu } from "../../../lib/model/gpu.ts";
import { observe } from "../../support/machine.ts";

const record = (id: number) => ({ pid: pid(id), startedAt: id, peak: known(bytes(1)), isRunning: false });

/** A machine's only GPU with these records, or none where no account is kept. */
function accounting(ids: readonly number[] | undefined): readonly Gpu[] {
  const { report } = observe({ processes: [] });
  const gpus = report.ok ? report.value.gpus : [];
  const records = ids === undefined ? absent("not-supported") : known(ids.map(record));
  return gpus.map((gpu) => ({ ...gpu, accounting: records }));
}

const found = (before: readonly number[] | undefined, after: readonly number[] | undefined) =>
  [...newlyAccounted(accounting(before), accounting(after)).values()].map((used) =>
    used.map(({ pid }) => pid)
  );

test("newlyAccounted() names who came between two looks, where account is kept in both", () => {
  assert.deepEqual(found([7], [7, 8, 9]), [[8, 9]]);
  assert.deepEqual(found([], []), [[]]);
  assert.deepEqual(found(undefined, [7]), []);
  assert.deepEqual(found([7], undefined), []);
});

test("newlyAccounted() gives no account that was cleared or overwritten meanwhile, as it may lack anybody", () => {
  const full = Array.from({ length: 4000 }, (_, place) => place + 1);
  assert.deepEqual(found([7, 8], [8, 9]), []);
  assert.deepEqual(found([7], []), []);
  assert.deepEqual(found([], full), []);
  assert.deepEqual(found([], full.slice(1)).map(({ length }) => length), [3999]);
});
