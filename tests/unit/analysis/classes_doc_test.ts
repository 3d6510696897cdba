import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { CLASSES_AS_TRIED } from "../../../lib/analysis/classify.ts";
import { DEFAULT_CLASSES, WIDENING_CLASSES } from "../../../lib/analysis/ending.ts";
import { HOLDER_CLASSES } from "../../../lib/model/snapshot.ts";

const TEXT = readFileSync(new URL("../../../docs/classes.md", import.meta.url), "utf8");

/** Cells of the rows of the table of classes; a bar inside a cell is escaped. */
const ROWS = TEXT.split("\n").filter((line) => line.startsWith("| `"))
  .map((line) => line.split(/(?<!\\)\|/).slice(1, -1).map((cell) => cell.trim()));

test("HOLDER_CLASSES has the classes in the order in which classify() tries them", () => {
  assert.deepEqual(CLASSES_AS_TRIED, HOLDER_CLASSES);
});

test("docs/classes.md explains exactly the classes there are, in the order of the rules", () => {
  assert.deepEqual(ROWS.map(([name]) => name), HOLDER_CLASSES.map((name) => `\`${name}\``));
  for (const row of ROWS) assert.ok(row.length === 5 && row.every((cell) => cell !== ""), row[0]);
});

test("docs/classes.md says which classes are ended by default and which when asked for", () => {
  const answers = Object.fromEntries(
    ROWS.map(([name = "", , , isEnded = ""]) => [name.slice(1, -1), isEnded]),
  );
  const expected = Object.fromEntries(HOLDER_CLASSES.map((name) => [name, "No"]));
  for (const name of DEFAULT_CLASSES) expected[name] = "Yes";
  for (const name of WIDENING_CLASSES) expected[name] = `No, \`--class ${name}\``;
  assert.deepEqual(answers, expected);
});
