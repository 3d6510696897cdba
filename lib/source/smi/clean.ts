/** Undoes what terminals, mail programs and shells do to a text before it is saved. Lines keep their numbers. */
import { findRefusal } from "./refusals.ts";

/** Output of the largest machines is a few MB. More is a log of many looks, or hostile. */
export const MOST_CHARACTERS = 16 * 1024 ** 2;
const MOST_LINES = 1024 ** 2;
/** Longer than any line of nvidia-smi, whose process names end at 4096 bytes. */
const LONGEST_LINE = 16_384;
/** Control sequences of ECMA-48 (`ESC [ … m`), sets of characters (`ESC ( B`) and titles (`ESC ] … BEL`), none over several lines. */
// deno-lint-ignore no-control-regex -- taking control characters out is what it is for
const ANSI = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[()*+./-][0-~]|[@-Z\\^_])/g;
/** Blanks of other widths, which chats and web pages put in the place of ours. */
const BLANKS = /[\u00a0\u2000-\u200a\u202f\u205f]/g;
/** Marks without width, where a line may be broken: they stand within numbers, too. */
const NOTHINGS = /[\u00ad\u200b\u2060\ufeff]/g;
const QUOTE_MARKS = /^(?:[ \t]{0,8}>){1,8} ?/gm;

/**
 * The text without control sequences, quote marks, a byte order mark and the NULs of UTF-16, with `\n` at line ends.
 *
 * @throws {SyntaxError} if it is larger than any output of nvidia-smi.
 */
export function cleanText(text: string): string {
  if (text.length > MOST_CHARACTERS) {
    throw new SyntaxError(
      `Cannot read the text as output of nvidia-smi as it must have at most ${MOST_CHARACTERS} characters: it has ${text.length}`,
    );
  }
  let clean = text.startsWith("\ufeff") ? text.slice(1) : text;
  if (clean.includes("\0")) clean = clean.replace(/^\ufffd+/, "").replaceAll("\0", "");
  clean = clean.replaceAll("\x9b", "\x1b[");
  if (clean.includes("\r")) clean = clean.replace(/\r\n?/g, "\n");
  if (clean.includes("\x1b")) clean = clean.replace(ANSI, "");
  clean = clean.replace(BLANKS, " ").replace(NOTHINGS, "");
  return /^[ \t]{0,8}>/m.test(clean) ? clean.replace(QUOTE_MARKS, "") : clean;
}

/** What shows that a line is whole though nothing ends it: a unit, what closes a row or a word, an id of full length. */
const WHOLE_END =
  /(?:MiB|%|[|+>)\]=]|(?:GPU|MIG)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|:[0-9a-f]{2}\.[0-7])\s*$/i;
/** What may be half a value at the end of a line: all behind the last ` : ` of `-q`, the last comma of CSV, the last blank. */
const LAST_VALUE = /(?<= : |,)(?:(?! : |,).)+$|\S+\s*$/;
/** Stands for the last value of a text that ends within a line. It reads as one that is not there. */
export const CUT_VALUE = "[cut off]";

/** A text in lines. */
export interface Lines {
  readonly lines: readonly string[];
  /** How many were too long to be lines of nvidia-smi; those are empty here. */
  readonly tooLong: number;
  /** Whether the text ends within a line. Its last value may be half a number or half a name, and `CUT_VALUE` is in its place. */
  readonly isCut: boolean;
}

/**
 * The lines of a clean text.
 *
 * @throws {SyntaxError} if there are too many.
 */
export function splitLines(text: string): Lines {
  const lines = text.split("\n", MOST_LINES + 1);
  if (lines.length > MOST_LINES) {
    throw new SyntaxError(
      `Cannot read the text as output of nvidia-smi as it must have at most ${MOST_LINES} lines: it has more`,
    );
  }
  let tooLong = 0;
  for (const [at, line] of lines.entries()) {
    if (line.length <= LONGEST_LINE) continue;
    lines[at] = "";
    tooLong++;
  }
  const last = lines.at(-1) ?? "";
  const isCut = last.trim() !== "" && !WHOLE_END.test(last) && findRefusal(last) === undefined;
  if (isCut) lines[lines.length - 1] = last.replace(LAST_VALUE, CUT_VALUE);
  return { lines, tooLong, isCut };
}
