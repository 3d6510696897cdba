/** Tables for people. Whatever stands in a cell is made safe to print here, so that no caller can forget it. */
import { printable } from "../core/text.ts";
import { type Paint, PLAIN, type Tone } from "./colour.ts";
import { blanksFor, fit, widthOf } from "./layout.ts";

/** A column of a table, said once. A list of columns that are `Field`s too serves `renderCsv` as well. */
export interface Column<Row> {
  readonly title: string;
  readonly align: "left" | "right";
  readonly cell: (row: Row) => string;
  /** What the cell is to the reader; plain without it. */
  readonly tone?: (row: Row) => Tone;
  /** Cut before any other column where the table is too wide. */
  readonly isCutFirst?: boolean;
}

export interface TableOptions {
  /** Columns of the terminal; without it nothing is cut. */
  readonly width: number | undefined;
  readonly paint: Paint;
}

/** A table's lines, for a caller that puts something between them. */
export interface TableLines {
  readonly header: string;
  /** One line a row, in the order of the rows. */
  readonly rows: readonly string[];
}

const GAP = "  ";
/** Narrower than this a text says nothing any more. */
const LEAST_WIDTH = 8;

/** Writes a table as a header and a line for each row. */
export function renderTable<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  options: TableOptions = { width: undefined, paint: PLAIN },
): string {
  const { header, rows: lines } = layOutTable(rows, columns, options);
  return [header, ...lines].map((line) => `${line}\n`).join("");
}

/** Gives every row the same columns, cut where they are wider than the terminal. Numbers are never cut. */
export function layOutTable<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  { width, paint }: TableOptions,
): TableLines {
  const cells = rows.map((row) => columns.map((column) => printable(column.cell(row))));
  const widths = fitColumns(
    columns.map(({ title }, place) =>
      // A spread over the rows of a hostile file would be more arguments than a call can have.
      cells.reduce((most, line) => Math.max(most, widthOf(line[place] ?? "")), widthOf(title))
    ),
    columns,
    width,
  );
  const draw = (line: readonly string[], toneOf: (column: Column<Row>) => Tone) =>
    columns.map((column, place) => {
      const text = fit(line[place] ?? "", widths[place] ?? 0);
      const painted = text === "" ? "" : paint(text, toneOf(column));
      if (column.align === "right") return blanksFor(text, widths[place] ?? 0) + painted;
      return place === columns.length - 1 ? painted : painted + blanksFor(text, widths[place] ?? 0);
    }).join(GAP).trimEnd();
  return {
    header: draw(columns.map(({ title }) => title), () => "bold"),
    rows: rows.map((row, place) => draw(cells[place] ?? [], ({ tone }) => tone?.(row) ?? "plain")),
  };
}

/** Takes what is too much from the columns that may be cut: those that are cut first, then the widest. */
function fitColumns<Row>(
  natural: readonly number[],
  columns: readonly Column<Row>[],
  width: number | undefined,
): number[] {
  const widths = [...natural];
  if (width === undefined) return widths;
  let excess = widths.reduce((sum, each) => sum + each, 0) + GAP.length * (widths.length - 1) - width;
  const first = columns.flatMap(({ isCutFirst }, place) => isCutFirst ? [place] : []);
  const others = columns.flatMap(({ align, isCutFirst }, place) =>
    align === "left" && !isCutFirst ? [place] : []
  );
  for (const group of [first, others]) {
    while (excess > 0) {
      const widest = group.toSorted((a, b) => (widths[b] ?? 0) - (widths[a] ?? 0))[0];
      if (widest === undefined || (widths[widest] ?? 0) <= LEAST_WIDTH) break;
      widths[widest] = (widths[widest] ?? 0) - 1;
      excess--;
    }
  }
  return widths;
}
