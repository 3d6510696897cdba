/**
 * What a screen showed, from a recording of what was sent to it. `watch`, `script` and `tmux pipe-pane` record movements of
 * the cursor: they stand for blanks and line ends, and write new values over old ones without repeating the rest.
 */

/** A control sequence (ECMA-48, 5.4), a title or another string, another escape, a control character, or a run of text. */
const PIECE =
  // deno-lint-ignore no-control-regex -- control characters are what it reads
  /\x1b\[([0-?]*)[ -/]*([@-~])|\x1b(?:[\]PX^_][^\x07\x1b\r\n]*(?:\x07|\x1b\\)|[ -/]*[0-~])|[\b\t\r\n]|[^\x1b\b\t\r\n]+|\x1b/g;
/** Sequences that move the cursor. The rest changes how a text looks, or like `ESC [ K`, which `grep` prints, nothing at its end. */
// deno-lint-ignore no-control-regex -- control characters are what it looks for
const MOVES = /\x1b\[[0-9;]*[@A-HJLMPSTXZ`abdef]|\x1b\[\?(?:1049|1047|47)[hl]|\x1b[DEMc]|\x08/;
/** Larger than any terminal. A recording may name any place, and each change of a line copies it. */
const MOST_ROWS = 1000;
const MOST_COLUMNS = 2000;
/** All screens of a recording together. A movement of few characters may stand for thousands. */
const MOST_LINES = 1024 ** 2;
const MOST_CHARACTERS = 32 * 1024 ** 2;
const TAB = 8;
const SCROLLS = "scrolls";

/** Whether a text is a recording of a screen, of which the order of its characters is not the order on the screen. */
export function isRecording(text: string): boolean {
  return MOVES.test(text);
}

/**
 * The lines that a recorded screen showed at last; before them those of each screen that was cleared.
 *
 * @throws {SyntaxError} if the recording scrolls a part of the screen, or is longer than any.
 */
export function replayRecording(text: string): string {
  const screen = new Screen();
  for (const [piece, parameters, final] of text.matchAll(PIECE)) {
    if (final !== undefined) screen.control(final, parameters ?? "");
    else if (piece.startsWith("\x1b")) screen.escape(piece);
    else screen.write(piece);
  }
  return screen.text();
}

class Screen {
  readonly #lines: string[] = [""];
  /** The line that the top of the present screen is. */
  #top = 0;
  #row = 0;
  #column = 0;
  /** Whether the program draws the screen by itself: a line feed then only moves down. */
  #isDrawn = false;
  #last = " ";
  #room = MOST_CHARACTERS;

  text(): string {
    return this.#lines.join("\n");
  }

  write(piece: string): void {
    switch (piece) {
      case "\n":
        if (!this.#isDrawn) this.#column = 0;
        return this.#moveTo(this.#row + 1, this.#column);
      case "\r":
        return this.#moveTo(this.#row, 0);
      case "\b":
        return this.#moveTo(this.#row, this.#column - 1);
      case "\t":
        return this.#moveTo(this.#row, this.#column + TAB - this.#column % TAB);
      default:
        this.#put(piece);
        this.#last = piece.at(-1) ?? " ";
    }
  }

  escape(piece: string): void {
    if (piece === "\x1bc") this.#begin();
    else if (piece === "\x1bD" || piece === "\x1bE") {
      this.#moveTo(this.#row + 1, piece === "\x1bE" ? 0 : this.#column);
    } else if (piece === "\x1bM") refuse(SCROLLS);
  }

  control(final: string, parameters: string): void {
    if (/^[<-?]/.test(parameters)) return this.#switchScreen(parameters);
    const [first = 0, second = 0] = parameters.split(";").map((word) => Number(word) || 0);
    const count = Math.max(1, first);
    const [row, column] = [this.#row, this.#column];
    switch (final) {
      case "A":
        return this.#moveTo(row - count, column);
      case "B":
      case "e":
        return this.#moveTo(row + count, column);
      case "C":
      case "a":
        return this.#moveTo(row, column + count);
      case "D":
        return this.#moveTo(row, column - count);
      case "E":
        return this.#moveTo(row + count, 0);
      case "F":
        return this.#moveTo(row - count, 0);
      case "G":
      case "`":
        return this.#moveTo(row, count - 1);
      case "d":
        return this.#moveTo(this.#top + count - 1, column);
      case "H":
      case "f":
        return this.#moveTo(this.#top + Math.min(count, MOST_ROWS) - 1, Math.max(1, second) - 1);
      case "b":
        return this.#put(this.#last.repeat(Math.min(count, MOST_COLUMNS)));
      case "X":
        return this.#replace(count, " ".repeat(Math.min(count, MOST_COLUMNS)));
      case "P":
        return this.#replace(count, "");
      case "@":
        return this.#replace(0, " ".repeat(Math.min(count, MOST_COLUMNS)));
      case "Z":
        return this.#moveTo(row, (Math.ceil(column / TAB) - count) * TAB);
      case "K":
        return this.#eraseLine(first);
      case "J":
        return this.#eraseScreen(first);
      case "L":
      case "M":
      case "S":
      case "T":
        return refuse(SCROLLS);
    }
  }

  #switchScreen(parameters: string): void {
    if (!/^\?(?:.*;)?(?:1049|1047|47)(?:;|$)/.test(parameters)) return;
    this.#begin();
    this.#isDrawn = true;
  }

  #begin(): void {
    this.#top = this.#lines.length;
    this.#moveTo(this.#top, 0);
  }

  #moveTo(row: number, column: number): void {
    this.#row = Math.min(Math.max(row, this.#top), this.#top + MOST_LINES);
    this.#column = Math.min(Math.max(column, 0), MOST_COLUMNS);
    if (this.#row >= MOST_LINES) refuse("is longer than any");
    while (this.#lines.length <= this.#row) this.#lines.push("");
  }

  #put(text: string): void {
    this.#replace(text.length, text);
    this.#column += text.length;
  }

  #replace(count: number, text: string): void {
    const before = this.#lines[this.#row] ?? "";
    const line = before.padEnd(this.#column);
    if (this.#column < line.length && line.length > MOST_COLUMNS) refuse("is wider than any");
    const after = this.#column === line.length
      ? line + text
      : `${line.slice(0, this.#column)}${text}${line.slice(this.#column + count)}`;
    this.#room -= after.length - before.length;
    if (this.#room < 0) refuse("is longer than any");
    this.#lines[this.#row] = after;
  }

  #eraseLine(part: number): void {
    const line = this.#lines[this.#row] ?? "";
    const before = part === 0 ? line.slice(0, this.#column) : "";
    const after = part === 1 ? line.slice(this.#column + 1).padStart(line.length) : "";
    this.#lines[this.#row] = before + after;
  }

  #eraseScreen(part: number): void {
    if (part === 0 && this.#row === this.#top && this.#column === 0) return this.#clear();
    if (part === 2) return this.#clear();
    this.#eraseLine(part);
    const [from, to] = part === 0 ? [this.#row + 1, this.#lines.length] : [this.#top, this.#row];
    this.#lines.fill("", from, Math.max(from, to));
  }

  /** What was cleared stays in the text, above: it is an earlier look. The cursor stays where it was on the screen. */
  #clear(): void {
    const row = this.#row - this.#top;
    const column = this.#column;
    this.#begin();
    this.#moveTo(this.#top + row, column);
  }
}

function refuse(what: string): never {
  throw new SyntaxError(
    `Cannot read the text as output of nvidia-smi: it is a recording of a screen that ${what}; save what nvidia-smi itself prints`,
  );
}
