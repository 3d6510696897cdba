import type { Place } from "./finding.ts";
import type { Magic, NotebookCell } from "./notebook.ts";

/** One Python source, or one cell of a notebook: its text, and where things are in it. */
export class SourceText {
  readonly path: string;
  readonly cell: number | undefined;
  readonly #original: string;
  readonly #lineStarts: readonly number[];
  readonly #magics: ReadonlyMap<number, Magic> | undefined;

  constructor(path: string, original: string, cell?: NotebookCell) {
    this.path = path;
    this.cell = cell?.number;
    this.#magics = cell?.magics;
    this.#original = original;
    this.#lineStarts = lineStartsOf(original);
  }

  /** The place of a character. */
  placeAt(offset: number): Place {
    let low = 0;
    let high = this.#lineStarts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#lineStarts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    const start = this.#lineStarts[low] ?? 0;
    const column = offset - start + 1 - (low === 0 && this.#original.startsWith("\uFEFF") ? 1 : 0);
    const place = { path: this.path, line: low + 1, column: Math.max(1, column) };
    return this.cell === undefined ? place : { ...place, cell: this.cell };
  }

  /** What IPython does in place of the statement that begins there. */
  findMagic(offset: number): Magic | undefined {
    return this.#magics?.get(offset);
  }

  /** The original text between two offsets; of IPython's own lines, the whole line. */
  slice(from: number, to: number): string {
    if (!this.#magics?.has(from)) return this.#original.slice(from, to);
    const end = this.#original.indexOf("\n", from);
    return this.#original.slice(from, end < 0 ? undefined : end);
  }
}

/** Where lines begin, by Python's line ends: LF, CR LF, and a lone CR. */
export function lineStartsOf(text: string): readonly number[] {
  const starts = [0];
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === "\n" || character === "\r" && text[at + 1] !== "\n") starts.push(at + 1);
  }
  return starts;
}
