/** Tables for programs: RFC 4180 with a line feed after each row, as other tools here end their lines. */
import { stringify } from "csv-stringify/sync";
import { printable } from "../core/text.ts";

/** What a cell may hold. `null` is a value that is not known, or that there is none of: an empty cell without quotes. */
export type Cell = string | number | boolean | null;

/** A column of a CSV file, said once, its unit in its key. */
export interface Field<Row> {
  readonly key: string;
  readonly value: (row: Row) => Cell;
}

/** Writes rows as CSV, a line each whatever stands in them. `unguard` gives each text back as it was. */
export function renderCsv<Row>(rows: readonly Row[], fields: readonly Field<Row>[]): string {
  const lines = rows.map((row) => fields.map(({ value }) => writeCell(value(row))));
  return stringify([fields.map(({ key }) => key), ...lines], {
    // An empty text is not a missing one.
    cast: { string: (value) => value === "" ? { value, quoted_empty: true } : value },
  });
}

function writeCell(value: Cell): string | null {
  if (value === null) return null;
  return typeof value === "string" ? guard(value) : String(value);
}

/**
 * What a spreadsheet takes for a formula at the start of a cell, full-width forms too. Quotes before it are counted, so
 * that there is one way back. A leading tab or line end, which some trim, has been escaped by then.
 */
const FORMULA = /^'*[=+\-@＝＋－＠]/u;
const GUARDED = /^'+[=+\-@＝＋－＠]/u;

/**
 * Makes another process's text safe in a cell: what a spreadsheet would run gets a `'` in front, and what could drive a
 * terminal is written as `\u{1b}`.
 */
export function guard(text: string): string {
  // A text that looks like such an escape already has its backslash escaped.
  const safe = printable(text.replace(/\\(?=u\{)/g, "\\u{5c}"));
  return FORMULA.test(safe) ? `'${safe}` : safe;
}

/** Gives back the text that `guard` made safe. */
export function unguard(cell: string): string {
  const safe = GUARDED.test(cell) ? cell.slice(1) : cell;
  return safe.replace(/\\u\{([0-9a-f]+)\}/g, (_, digits) => String.fromCodePoint(parseInt(digits, 16)));
}
