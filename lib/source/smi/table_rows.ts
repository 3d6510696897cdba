/** Rows of a table as nvidia-smi printed them, whatever a terminal or a mail program has done to them since. */

/** One row, whole again, or the reason why it is not. */
export interface TableRow {
  readonly text: string;
  /** Counts from 0. */
  readonly line: number;
  readonly isWhole: boolean;
}

/** Longer than any row of any driver; longer lines are no rows. */
const LONGEST_ROW = 1024;
const RULER_START = /^[|+][-=+]{10,}$/;
const RULER_REST = /^[-=+]{0,1024}[-=+|]$/;

/** Whether a line can be a row, or the first piece of one. */
export function isRowStart(line: string): boolean {
  const text = line.trimStart();
  return (text.startsWith("|") || text.startsWith("+")) && text.length <= LONGEST_ROW;
}

/**
 * The rows from line `at` to the end of the table. Empty lines between its panels belong to it; the banner of the next
 * table does not.
 */
export function collectTableRows(lines: readonly string[], at: number): { rows: TableRow[]; end: number } {
  const rows: TableRow[] = [];
  const fold = findFold(lines, at);
  let end = at;
  /** Bars of the last ruler; 0 before there is one. */
  let bars = 0;
  for (let line = at; line < lines.length;) {
    const text = (lines[line] ?? "").trim();
    if (text === "") {
      // One panel ends and the next begins; two and more empty lines come from copying.
      if (++line - end > 3) break;
      continue;
    }
    if (!isRowStart(text) || (rows.length > 1 && isBanner(text))) break;
    const { row, next } = fold === undefined ? joinSoft(lines, line, bars) : joinFolded(lines, line, fold);
    if (isRuler(row.text)) bars = countBars(row.text);
    rows.push(row);
    line = end = next;
  }
  return { rows, end: Math.max(end, at + 1) };
}

/** Whether a row is the banner that opens a table. */
export function isBanner(text: string): boolean {
  return /^\| *NVIDIA-SMI +\d/.test(text);
}

/** Whether a row is a line between rows. */
export function isRuler(text: string): boolean {
  return /^[|+][-=+| ]{10,}[|+]$/.test(text);
}

/** A terminal narrower than the table breaks each row at the same column. A ruler without an end shows which. */
function findFold(lines: readonly string[], at: number): { width: number; pieces: number } | undefined {
  const last = Math.min(lines.length, at + 60);
  for (let line = at; line < last; line++) {
    const head = (lines[line] ?? "").trim();
    if (head.length > LONGEST_ROW || !RULER_START.test(head) || /[|+]$/.test(head)) continue;
    for (let pieces = 2; pieces <= 4; pieces++) {
      const rest = (lines[line + pieces - 1] ?? "").trim();
      if (rest.length > head.length || !RULER_REST.test(rest)) break;
      if (/[|+]$/.test(rest)) return { width: head.length, pieces };
    }
  }
  return undefined;
}

function joinFolded(
  lines: readonly string[],
  line: number,
  { width, pieces }: { width: number; pieces: number },
): { row: TableRow; next: number } {
  const first = (lines[line] ?? "").trim();
  const indent = (lines[line] ?? "").search(/\S/);
  // The banner of drivers up to 352 is shorter than the rest and need not have been broken. A ruler follows it.
  if (first.length < width && isClosed(first) && /^\s*[|+][-=]/.test(lines[line + 1] ?? "")) {
    return { row: { text: first, line, isWhole: true }, next: line + 1 };
  }
  let text = "";
  for (let piece = 0; piece < pieces; piece++) {
    const raw = lines[line + piece] ?? "";
    const words = raw.slice(Math.min(indent, raw.search(/\S|$/))).trimEnd();
    if (words.length > width) break;
    text = text.padEnd(piece * width) + words;
    const isLast = piece === pieces - 1 || isRowStart(lines[line + piece + 1] ?? "");
    if (piece > 0 && isLast && isClosed(text)) {
      return { row: { text, line, isWhole: true }, next: line + piece + 1 };
    }
  }
  return { row: { text: first, line, isWhole: false }, next: line + 1 };
}

/**
 * A mail program breaks a row between words, each at another place, and leaves rulers whole. Where no ruler says so a
 * number may have been broken in two, so the row is left as unread.
 */
function joinSoft(
  lines: readonly string[],
  line: number,
  bars: number,
): { row: TableRow; next: number } {
  const first = (lines[line] ?? "").trim();
  if (isRuler(first)) return { row: { text: first, line, isWhole: true }, next: line + 1 };
  let text = first;
  let next = line + 1;
  while (next <= line + 3 && continues(text, lines[next], bars)) {
    text += ` ${(lines[next] ?? "").trim()}`;
    next++;
  }
  if (next === line + 1 || !isClosed(text)) {
    return { row: { text: first, line, isWhole: isClosed(first) }, next: line + 1 };
  }
  return { row: { text, line, isWhole: bars > 0 }, next };
}

/** Whether a line is the rest of a row. One that begins with a bar is, if the row then has as many bars as the ruler. */
function continues(text: string, line: string | undefined, bars: number): boolean {
  if (line === undefined) return false;
  if (isClosed(text)) {
    // A lone bar is what is left of the next row, where a file has been cut.
    const isRest = bars === 0 ? line.trim() !== "|" : countBars(text) < bars;
    return isRest && isPiece(line) && line.trimEnd().endsWith("|");
  }
  return isPiece(line) || (isRowStart(line) && bars > 2 && countBars(text) + countBars(line) === bars);
}

function countBars(text: string): number {
  return text.split(/[|+]/).length - 1;
}

function isPiece(line: string | undefined): boolean {
  if (line === undefined || line.length > LONGEST_ROW || line.trim() === "") return false;
  return !isRowStart(line) || line.trim() === "|";
}

function isClosed(text: string): boolean {
  return text.endsWith("|") || text.endsWith("+");
}
