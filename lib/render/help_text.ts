/** What help says below its options, fitted to a width. */
import { type NoteBlock, type NotePart, readNotes } from "./help_notes.ts";
import { widthOf, wrap } from "./layout.ts";

const HEADINGS: Readonly<Record<NotePart["about"], string>> = {
  "exit status": "Exit status:",
  examples: "Examples:",
  other: "",
};
const INDENT = "  ";
/** Terms that are wider have their meaning below them. */
const WIDEST_TERM = 34;

/** Writes notes for a person: no line is wider, but for a word or an example that cannot be broken. */
export function renderHelpNotes(notes: string, width: number): string {
  return readNotes(notes).map((part) => `\n${linesOf(part, width).join("\n")}\n`).join("");
}

function linesOf({ about, blocks }: NotePart, width: number): readonly string[] {
  const heading = HEADINGS[about];
  const [first, ...rest] = blocks;
  if (first?.kind !== "text") {
    return [...heading === "" ? [] : [heading], ...blocks.flatMap((block) => blockLines(block, width))];
  }
  return [
    ...wrap(`${heading} ${first.text}`.trim(), { width, label: "" }),
    ...rest.flatMap((block) => blockLines(block, width)),
  ];
}

function blockLines(block: NoteBlock, width: number): readonly string[] {
  switch (block.kind) {
    case "text":
      return wrap(block.text, { width, label: "" });
    case "rows": {
      const column = Math.min(WIDEST_TERM, Math.max(...block.rows.map(({ term }) => widthOf(term)))) + 4;
      return block.rows.flatMap(({ term, text }) => pair(`${INDENT}${term}`, text, { column, width }));
    }
    case "lines":
      return block.lines.flatMap((line) => exampleLines(line, width));
  }
}

/** A line that is to be typed, with what it does below it where both do not fit beside each other. */
function exampleLines(line: string, width: number): readonly string[] {
  const whole = `${INDENT}${line}`.trimEnd();
  const [, typed, remark] = /^(\s*\S.*?) {2,}(\S.*)$/.exec(line) ?? [];
  if (widthOf(whole) <= width || typed === undefined || remark === undefined) return [whole];
  const column = line.length - remark.length + INDENT.length;
  const isRoomy = width - column >= NARROWEST_REMARK;
  return pair(`${INDENT}${typed}`, remark, { column: isRoomy ? column : REMARK_INDENT, width });
}

/** Fewer columns than this are no place for a sentence. */
const NARROWEST_REMARK = 24;
const REMARK_INDENT = 6;

function pair(
  term: string,
  text: string,
  { column, width }: { readonly column: number; readonly width: number },
): readonly string[] {
  if (widthOf(term) + 2 > column) return [term, ...wrap(text, { width, label: " ".repeat(column) })];
  return wrap(text, { width, label: term.padEnd(column) });
}
