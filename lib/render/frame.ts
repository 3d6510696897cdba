/**
 * A text that is drawn again and again in the same place of a terminal. Nothing that it does to the terminal outlasts a
 * frame, so that there is nothing to put back, however this program ends.
 */

/** Control sequences that every terminal knows (ECMA-48, xterm). */
const NO_WRAP = "\x1b[?7l";
const WRAP = "\x1b[?7h";
const ERASE_LINE = "\x1b[K";
const ERASE_BELOW = "\x1b[J";
const CLEAR = "\x1b[H\x1b[2J";
const up = (lines: number) => lines === 0 ? "" : `\x1b[${lines}A`;

/** What a frame is drawn on. */
export interface FrameSize {
  readonly columns: number;
  /** Where the terminal does not know, nothing is cut. */
  readonly rows?: number;
}

/** Draws frames. */
export class Frame {
  #drawn = 0;
  #size: FrameSize | undefined;

  /** What to write so that this text stands where the last one stood; cut to what the terminal shows. */
  draw(text: string, size: FrameSize): string {
    const isResized = this.#size !== undefined &&
      (this.#size.columns !== size.columns || this.#size.rows !== size.rows);
    this.#size = size;
    const lines = cut(text.replace(/\n$/, "").split("\n"), size.rows);
    // A terminal of another width has broken the old lines anew: nobody knows where they are.
    const start = isResized ? CLEAR : `\r${up(this.#drawn)}`;
    this.#drawn = lines.length;
    return `${NO_WRAP}${start}${lines.map((line) => `${line}${ERASE_LINE}\n`).join("")}${ERASE_BELOW}${WRAP}`;
  }
}

/** The cursor rests on a line of its own below the text. */
function cut(lines: readonly string[], rows: number | undefined): readonly string[] {
  if (rows === undefined || lines.length < rows) return lines;
  const shown = Math.max(0, rows - 2);
  return [...lines.slice(0, shown), `... ${lines.length - shown} more lines: make the window taller`];
}
