/** Characters that could drive a terminal, reorder a line or hide in it: controls, formats, separators, lone surrogates. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}]/gu;
/** Nearly every text is of these alone, and is known to be safe at a tenth of the price. */
const SAFE = /^[\x20-\x7e]*$/;
/** What a POSIX shell leaves alone outside quotes. */
const PLAIN_WORD = /^[\w@%+=:,./-]+$/;

/** Makes another process's text safe to print: what could drive a terminal is shown as `\u{1b}`, not obeyed. */
export function printable(text: string): string {
  return SAFE.test(text)
    ? text
    : text.replace(UNSAFE, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

/** The same for a text of several lines, whose line ends are our own. */
export function printableLines(text: string): string {
  return text.split("\n").map(printable).join("\n");
}

/** Cuts to at most `width` characters, the last of which is an ellipsis if anything was cut. */
export function truncate(text: string, width: number): string {
  const characters = Array.from(text);
  if (characters.length <= width) return text;
  return width < 1 ? "" : `${characters.slice(0, width - 1).join("")}…`;
}

/** Writes arguments as one line that a POSIX shell reads back as the same arguments. */
export function quoteArguments(words: readonly string[]): string {
  // A shell takes a first word with `=` for an assignment, unless it is quoted.
  return words.map((word, place) =>
    PLAIN_WORD.test(word) && !(place === 0 && word.includes("="))
      ? word
      : `'${word.replaceAll("'", `'\\''`)}'`
  ).join(" ");
}

/** Blanks, or one piece of a word (XCU 2.2): in single quotes, in double quotes, one escaped character, a plain run. */
const WORD_PIECE = /([ \t\n]+)|'([^']*)'|"([^"\\]*(?:\\[^][^"\\]*)*)"|\\([^])|([^ \t\n'"\\]+)/gy;

/**
 * Splits a line into the arguments that a POSIX shell would see, expanding nothing: reads `quoteArguments` back.
 *
 * @throws {SyntaxError} if a quote is not closed or the line ends in a backslash.
 */
export function splitArguments(line: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let place = 0;
  for (const [piece, blanks, single, double, escaped, plain] of line.matchAll(WORD_PIECE)) {
    place += piece.length;
    if (blanks !== undefined) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (escaped !== "\n") {
      word = (word ?? "") +
        (single ?? double?.replace(/\\([$`"\\]|\n)/g, keepEscaped) ?? escaped ?? plain ?? "");
    }
  }
  if (place < line.length) {
    throw new SyntaxError(`Cannot split arguments: what starts at character ${place + 1} has no end`);
  }
  return word === undefined ? words : [...words, word];
}

/** An escaped line end is a continuation: it stands for nothing. */
function keepEscaped(_pair: string, character: string): string {
  return character === "\n" ? "" : character;
}

/** `1 process`, `2 processes`. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** The candidate nearest to a mistyped word, if one is near enough to be meant. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  // A word with as many changes as letters has nothing in common with the candidate.
  const limit = Math.min(Math.max(2, Math.floor(word.length / 3)), word.length - 1);
  // Each letter more or less is a change: one that is far longer or shorter need not be compared, however long it is.
  const ranked = candidates.filter(({ length }) => Math.abs(length - word.length) <= limit)
    .map((candidate) => ({ candidate, distance: editDistance(word, candidate) }))
    .sort((a, b) => a.distance - b.distance);
  const best = ranked[0];
  return best && best.distance <= limit ? best.candidate : undefined;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let line = 1; line <= a.length; line++) {
    const next = [line];
    for (let column = 1; column <= b.length; column++) {
      const change = (row[column - 1] ?? 0) + (a[line - 1] === b[column - 1] ? 0 : 1);
      next.push(Math.min(change, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
