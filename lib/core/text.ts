/** Characters that could drive a terminal, reorder a line or hide in it: controls, formats, separators, lone surrogates. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}]/gu;
/** What a POSIX shell leaves alone outside quotes. */
const PLAIN_WORD = /^[\w@%+=:,./-]+$/;

/** Makes another process's text safe to print: what could drive a terminal is shown as `\u{1b}`, not obeyed. */
export function printable(text: string): string {
  return text.replace(UNSAFE, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

/** Cuts to `width` characters with an ellipsis at the end. */
export function truncate(text: string, width: number): string {
  const characters = Array.from(text);
  return characters.length <= width ? text : `${characters.slice(0, Math.max(0, width - 1)).join("")}…`;
}

/** Writes arguments as one line that a POSIX shell reads back as the same arguments. */
export function quoteArguments(words: readonly string[]): string {
  return words.map((word) => PLAIN_WORD.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
}

/** `1 process`, `2 processes`. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** The candidate nearest to a mistyped word, if one is near enough to be meant. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const ranked = candidates.map((candidate) => ({ candidate, distance: editDistance(word, candidate) }))
    .sort((a, b) => a.distance - b.distance);
  const best = ranked[0];
  return best && best.distance <= Math.max(2, Math.floor(word.length / 3)) ? best.candidate : undefined;
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
