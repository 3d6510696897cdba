import assert from "node:assert/strict";
import { test } from "node:test";
import { changeOf, findHandovers, type Rows, rowsOf, sumRows } from "../../../lib/analysis/diff_rows.ts";
import { type Pid, pid } from "../../../lib/core/ids.ts";
import { absent, known, type Reading } from "../../../lib/core/reading.ts";
import { type Bytes, bytes } from "../../../lib/core/units.ts";
import { MIB, TOLERANCE } from "../../support/job_story.ts";
import { reportOf } from "../../support/machine.ts";

const everybody = () => true;

function rows(listed: Readonly<Record<number, number | "not reported">>): Rows {
  return new Map(
    Object.entries(listed).map(([id, mib]): [Pid, Reading<Bytes>] => [
      pid(Number(id)),
      mib === "not reported" ? absent("not-reported") : known(bytes(mib * MIB)),
    ]),
  );
}

test("rowsOf() takes the contexts of one pid together", () => {
  const [gpu] =
    reportOf({ processes: [{ pid: 7, mib: 100 }, { pid: 8, mib: 5 }], dead: [{ pid: 7, mib: 20 }] }).gpus;
  assert.ok(gpu);

  assert.deepEqual(rowsOf(gpu), rows({ 7: 120, 8: 5 }));
});

test("rowsOf() gives no row where the list is unknown", () => {
  const [gpu] = reportOf({ processes: [{ pid: 7, mib: 100 }], gpus: [{ list: "timed-out" }] }).gpus;
  assert.ok(gpu);

  assert.deepEqual(rowsOf(gpu), new Map());
});

test("sumRows() is absent as soon as one counted row is", () => {
  const listed = rows({ 7: 100, 8: "not reported" });

  assert.deepEqual(sumRows(listed, everybody), absent("not-reported"));
  assert.deepEqual(sumRows(listed, (id) => id === 7), known(100 * MIB));
});

test("changeOf() counts who came, who went and who changed, and nobody else", () => {
  const change = changeOf(rows({ 1: 10, 2: 20, 3: 30 }), rows({ 2: 25, 3: 30, 4: 7 }), (id) => id !== 3);

  assert.deepEqual(change, known((-10 + 5 + 7) * MIB));
});

test("changeOf() passes over a pid that reports nothing in both, and stops at one that reports in one only", () => {
  const silent = rows({ 1: "not reported", 2: 10 });

  assert.deepEqual(changeOf(silent, rows({ 1: "not reported", 2: 12 }), everybody), known(2 * MIB));
  assert.deepEqual(changeOf(silent, rows({ 1: 5, 2: 12 }), everybody), absent("not-reported"));
});

test("findHandovers() finds the importer that grew by what its exporter shared", () => {
  // As measured: an exporter of 3 GiB beside its context of 518 MiB, an importer with a bare context.
  const found = findHandovers(rows({ 9: 3590 }), {
    before: rows({ 9: 3590, 5: 518 }),
    after: rows({ 5: 3590 }),
  }, TOLERANCE);

  assert.deepEqual(found, [{ from: [9], to: 5, bytes: 3072 * MIB }]);
});

test("findHandovers() finds one importer of several exporters", () => {
  const gone = rows({ 8: 10_000, 9: 10_000 });
  const found = findHandovers(gone, { before: rows({ 5: 600 }), after: rows({ 5: 19_600 }) }, TOLERANCE);

  assert.deepEqual(found, [{ from: [8, 9], to: 5, bytes: 19_000 * MIB }]);
});

test("findHandovers() takes a neighbour's own growth for no handover", () => {
  const before = rows({ 5: 1000 });
  const gone = rows({ 9: 8000 });

  assert.deepEqual(findHandovers(gone, { before, after: rows({ 5: 1300 }) }, TOLERANCE), []);
  assert.deepEqual(findHandovers(gone, { before, after: rows({ 5: 20_000 }) }, TOLERANCE), []);
  assert.deepEqual(findHandovers(gone, { before, after: rows({ 5: 1000, 6: 8000 }) }, TOLERANCE), []);
});
