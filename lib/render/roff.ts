/** Text in the man macros of roff, man(7), so that it is shown as it is written and read neither as a request nor as an escape. */

/** Longer lines make a source that mail and version control spoil; mandoc complains of them. */
const WIDTH = 78;

/** What typesetters turn into something that cannot be typed again, or take for their own: groff_char(7). */
const NAMES: ReadonlyMap<string, string> = new Map([
  ["\\", "\\e"],
  ["-", "\\-"],
  ["'", "\\(aq"],
  ["`", "\\(ga"],
  ["^", "\\(ha"],
  ["~", "\\(ti"],
  ['"', "\\(dq"],
]);

/** Escapes a text, whose line ends stay: nothing in it is special any more, save a dot that begins a line. */
export function escapeRoff(text: string): string {
  return text.replace(
    /[\\\-'`^~"]|[^\x20-\x7e\n]/gu,
    (character) =>
      NAMES.get(character) ??
        `\\[u${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}]`,
  );
}

/** A line that calls a macro with these texts. */
export function formatMacro(name: string, ...words: readonly string[]): string {
  return [`.${name}`, ...words.map((word) => `"${escapeRoff(word)}"`)].join(" ");
}

/** Running text: as many lines as the source needs, one paragraph when it is read. */
export function formatText(text: string): string {
  const lines: string[] = [];
  for (const word of escapeRoff(text).split(/\s+/).filter((each) => each !== "")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= WIDTH) {
      lines[lines.length - 1] = `${last} ${word}`;
    } else lines.push(word);
  }
  return lines.map(guardDot).join("\n");
}

/** Lines that are shown as they stand. */
export function formatVerbatim(lines: readonly string[]): string {
  return [".nf", ...lines.map((line) => guardDot(escapeRoff(line.trimEnd())) || ".sp"), ".fi"].join("\n");
}

/** The same, set off from the text around them. */
export function formatExample(lines: readonly string[]): string {
  return [".RS 4", formatVerbatim(lines), ".RE"].join("\n");
}

function guardDot(line: string): string {
  return line.startsWith(".") ? `\\&${line}` : line;
}
