import { test } from "node:test";
import assert from "node:assert/strict";
import { parse } from "csv-parse/sync";
import fc from "fast-check";
import { type Cell, guard, renderCsv, unguard } from "../../../lib/render/csv.ts";
import { renderSnapshotCsv } from "../../../lib/render/snapshot_csv.ts";
import { anySnapshot, hostileText } from "../../support/snapshots.ts";

const cells = fc.oneof(hostileText, fc.maxSafeNat(), fc.boolean(), fc.constant(null));

/** What a program reads that knows our rules: quotes tell an empty text from a missing value. */
function readCsv(text: string): (string | null)[][] {
  return parse(text, { cast: (value, { quoting }) => value === "" && !quoting ? null : unguard(value) });
}

test("renderCsv() reads back as written", () => {
  fc.assert(fc.property(fc.array(fc.array(cells, { minLength: 3, maxLength: 3 })), (rows) => {
    const fields = [0, 1, 2].map((place) => ({
      key: `k${place}`,
      value: (row: Cell[]) => row[place] ?? null,
    }));
    const read = readCsv(renderCsv(rows, fields)).slice(1);
    assert.deepEqual(read, rows.map((row) => row.map((cell) => cell === null ? null : String(cell))));
  }));
});

test("renderCsv() has one line for each row, whatever stands in it", () => {
  fc.assert(fc.property(fc.array(cells), (values) => {
    const text = renderCsv(values, [{ key: "a", value: () => 1 }, { key: "b", value: (value) => value }]);
    assert.equal(text.split(/\r\n|[\n\r\u2028\u2029]/).length, values.length + 2);
  }));
});

test("guard() leaves nothing that a spreadsheet runs or a terminal obeys, and unguard() undoes it", () => {
  fc.assert(fc.property(hostileText, (text) => {
    const safe = guard(text);
    assert.doesNotMatch(safe, /^[=+\-@\t\r\n＝＋－＠]|[\p{Cc}\p{Cf}\p{Cs}]/u);
    assert.equal(unguard(safe), text);
  }));
});

test("renderSnapshotCsv() gives every row of any snapshot as many cells as there are columns", () => {
  fc.assert(fc.property(anySnapshot, (snapshot) => {
    const [header = [], ...rows] = readCsv(renderSnapshotCsv(snapshot));
    assert.ok(rows.every(({ length }) => length === header.length));
    assert.ok(rows.length >= Math.max(snapshot.holders.length, snapshot.ghosts.length));
  }));
});
