import { test } from "node:test";
import assert from "node:assert/strict";
import { type Field, guard, renderCsv, unguard } from "../../../lib/render/csv.ts";

interface Row {
  readonly text: string | null;
  readonly count: number | null;
  readonly isOpen: boolean | null;
}

const FIELDS: readonly Field<Row>[] = [
  { key: "text", value: ({ text }) => text },
  { key: "memoryUsedBytes", value: ({ count }) => count },
  { key: "open", value: ({ isOpen }) => isOpen },
];

test("renderCsv() quotes what needs it, and tells an empty text from a missing value", () => {
  const rows: readonly Row[] = [
    { text: "plain", count: 0, isOpen: true },
    { text: 'say "a, b"', count: 9_007_199_254_740_991, isOpen: false },
    { text: "", count: null, isOpen: null },
    { text: null, count: 1, isOpen: null },
    { text: "two\nlines", count: 1, isOpen: null },
  ];
  assert.equal(
    renderCsv(rows, FIELDS),
    `text,memoryUsedBytes,open
plain,0,true
"say ""a, b""",9007199254740991,false
"",,
,1,
two\\u{a}lines,1,
`,
  );
});

test("renderCsv() of no rows is its header", () => {
  assert.equal(renderCsv([], FIELDS), "text,memoryUsedBytes,open\n");
});

const GUARDED: readonly [string, string][] = [
  ["=1+1", "'=1+1"],
  ["+1", "'+1"],
  ["-v", "'-v"],
  ["@SUM(A1)", "'@SUM(A1)"],
  ["＝1", "'＝1"],
  ["\t=1", "\\u{9}=1"],
  ["\r=1", "\\u{d}=1"],
  ["'=1", "''=1"],
  ["''-", "'''-"],
  ["'quoted'", "'quoted'"],
  ["a=b", "a=b"],
  ["\x1b[2J", "\\u{1b}[2J"],
  ["\\u{1b}", "\\u{5c}u{1b}"],
  ["\\\\u{1b}", "\\\\u{5c}u{1b}"],
  ["C:\\users", "C:\\users"],
  ["\ud800", "\\u{d800}"],
  ["", ""],
];

test("guard() disarms formulas and escape codes and leaves other texts alone", () => {
  assert.deepEqual(GUARDED.map(([text]) => guard(text)), GUARDED.map(([, safe]) => safe));
});

test("unguard() gives each text back", () => {
  assert.deepEqual(GUARDED.map(([, safe]) => unguard(safe)), GUARDED.map(([text]) => text));
});
