import { test } from "node:test";
import assert from "node:assert/strict";
import fc from "fast-check";
import { COLOUR, PLAIN } from "../../../lib/render/colour.ts";
import { fit, widthOf, wrap } from "../../../lib/render/layout.ts";
import { type Column, layOutTable } from "../../../lib/render/table.ts";
import { hostileText } from "../../support/snapshots.ts";

type Line = readonly [string, string, string];
const COLUMNS: readonly Column<Line>[] = [
  { title: "N", align: "right", cell: ([number]) => number },
  { title: "NAME", align: "left", cell: ([, name]) => name, tone: () => "red" },
  { title: "COMMAND", align: "left", cell: ([, , command]) => command, isCutFirst: true },
];
const lines = fc.array(
  fc.tuple(fc.nat().map(String), hostileText, fc.string({ unit: "grapheme", maxLength: 60 })),
);

test("layOutTable() is never wider than the terminal, as long as the numbers and 8 columns of each text fit", () => {
  fc.assert(fc.property(lines, fc.integer({ min: 34, max: 120 }), (rows, width) => {
    const table = layOutTable(rows, COLUMNS, { width, paint: PLAIN });
    for (const line of [table.header, ...table.rows]) assert.ok(widthOf(line) <= width, line);
  }));
});

test("layOutTable() is the same in colour once the colour is taken out", () => {
  fc.assert(fc.property(lines, (rows) => {
    const plain = layOutTable(rows, COLUMNS, { width: 60, paint: PLAIN });
    const coloured = layOutTable(rows, COLUMNS, { width: 60, paint: COLOUR });
    // deno-lint-ignore no-control-regex -- the escape codes are what is looked for
    const bare = [coloured.header, ...coloured.rows].map((line) => line.replace(/\x1b\[\d+m/g, "").trimEnd());
    assert.deepEqual(bare, [plain.header, ...plain.rows]);
  }));
});

test("fit() gives a beginning of the text and never more columns than asked for", () => {
  fc.assert(fc.property(fc.string({ unit: "grapheme" }), fc.nat(40), (text, width) => {
    const cut = fit(text, width);
    assert.ok(widthOf(cut) <= width, cut);
    assert.ok(cut === text || text.startsWith(cut.replace(/…$/, "")));
  }));
});

test("wrap() loses no word, and no line of several words is wider than asked for", () => {
  const words = fc.array(fc.stringMatching(/^[a-z]{1,12}$/), { minLength: 1 });
  fc.assert(fc.property(words, fc.integer({ min: 4, max: 40 }), (texts, width) => {
    const wrapped = wrap(texts.join(" "), { width, label: "- " });
    assert.deepEqual(wrapped.flatMap((line) => line.slice(2).trim().split(" ")), texts);
    for (const line of wrapped) assert.ok(widthOf(line) <= width || !line.slice(2).includes(" "));
  }));
});
