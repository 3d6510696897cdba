import type { LogicalLine } from "./legacy_python.ts";

/** Columns that a tab leads to (language reference, 2.1.8). */
const TAB = 8;

/** The first line that Python refuses for its indentation. The parser takes such a line as if it were well placed. */
export function findBadIndentation(
  text: string,
  lines: readonly LogicalLine[],
): { readonly offset: number; readonly why: string } | undefined {
  const open = [0];
  for (const { start, isAfterColon } of lines) {
    const { column, end } = readIndentation(text, start);
    const character = text[end];
    if (character === undefined || character === "\n" || character === "\r" || character === "#") continue;
    const top = open.at(-1) ?? 0;
    if (isAfterColon && column > top) open.push(column);
    else if (column > top) return { offset: end, why: "it is indented, and nothing in front calls for that" };
    else {
      while ((open.at(-1) ?? 0) > column) open.pop();
      if (open.at(-1) !== column) return { offset: end, why: "its indentation matches no line in front" };
    }
  }
  return undefined;
}

function readIndentation(text: string, start: number): { readonly column: number; readonly end: number } {
  let column = 0;
  for (let at = start;; at++) {
    const character = text[at];
    if (character === " ") column++;
    else if (character === "\t") column += TAB - column % TAB;
    else if (character === "\f" || character === "\uFEFF") column = 0;
    else return { column, end: at };
  }
}
