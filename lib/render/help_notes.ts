/** What help says below its options, taken apart: paragraphs, of which some are headed, and what is indented below them. */

/** One piece of it. */
export type NoteBlock =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "rows"; readonly rows: readonly NoteRow[] }
  /** Lines whose breaks and blanks mean something. */
  | { readonly kind: "lines"; readonly lines: readonly string[] };

/** A term, and behind at least two blanks what it means. */
export interface NoteRow {
  readonly term: string;
  readonly text: string;
}

/** A paragraph with what is indented below it. */
export interface NotePart {
  readonly about: "exit status" | "examples" | "other";
  readonly blocks: readonly NoteBlock[];
}

/** Reads the notes of a command's help. */
export function readNotes(text: string): readonly NotePart[] {
  return text.split(PARAGRAPH_END).filter((paragraph) => paragraph.trim() !== "").map(readParagraph);
}

/** A blank line; a line at the margin after one that is indented; and before these two headings any. */
const PARAGRAPH_END = /\n{2,}|(?<=\n {2}.*)\n(?=\S)|\n(?=Exit status:|Examples?:)/;

function readParagraph(text: string): NotePart {
  const lines = text.split("\n");
  const indented = lines.findIndex((line) => line.startsWith("  "));
  const split = indented < 0 ? lines.length : indented;
  const first = lines.slice(0, split).join(" ");
  const rest = lines.slice(split).map((line) => line.replace(/^ {2}/, ""));
  const about = subjectOf(first);
  return { about, blocks: readBlocks(first.replace(/^(?:Exit status|Examples?):\s*/, ""), rest, about) };
}

function subjectOf(line: string): NotePart["about"] {
  if (line.startsWith("Exit status:")) return "exit status";
  return /^Examples?:/.test(line) ? "examples" : "other";
}

function readBlocks(
  first: string,
  rest: readonly string[],
  about: NotePart["about"],
): readonly NoteBlock[] {
  const heading: readonly NoteBlock[] = first === "" ? [] : [{ kind: "text", text: first }];
  if (rest.length === 0) return heading;
  const rows = about === "examples" ? undefined : readRows(rest);
  if (rows !== undefined) return [...heading, { kind: "rows", rows }];
  // Without a colon the indented lines go on with the sentence.
  if (first !== "" && !first.endsWith(":")) return [{ kind: "text", text: [first, ...rest].join(" ") }];
  return [...heading, { kind: "lines", lines: rest }];
}

/** The lines as rows, if each begins one or goes on with the text of the one before. */
function readRows(lines: readonly string[]): readonly NoteRow[] | undefined {
  const rows: NoteRow[] = [];
  for (const line of lines) {
    const [, term, text] = /^(\S.*?) {2,}(\S.*)$/.exec(line) ?? [];
    const last = rows.at(-1);
    if (term !== undefined && text !== undefined) rows.push({ term, text });
    else if (last !== undefined && line.startsWith("  ")) {
      rows[rows.length - 1] = { ...last, text: `${last.text} ${line.trim()}` };
    } else return undefined;
  }
  return rows;
}
