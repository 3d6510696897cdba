/**
 * Parses Python statement by statement as far as it can: a statement that cannot be parsed is taken out, and the rest is
 * read as if it were not there. The parser's own recovery is not used: on some texts it takes time that grows with the
 * square of their length.
 */
import { parser } from "@lezer/python";
import { findBadIndentation } from "./indentation.ts";
import { legacyEdits } from "./legacy_python.ts";
import { lineStartsOf } from "./source_text.ts";
import { withoutStatement } from "./statement_removal.ts";
import type { Node } from "./syntax.ts";

/** Statements that are taken out before the rest of the text is given up. Each costs one more parse. */
const MOST_BROKEN = 10;
const strict = parser.configure({ strict: true });

/** A source that was read, as far as that went. */
export interface ReadSource {
  readonly root: Node;
  /** Offsets of `exec` statements of Python 2, which the tree does not show. */
  readonly execOffsets: readonly number[];
  /** The first thing that could not be read, with the reason where it is known. */
  readonly broken: Broken | undefined;
}

/** Something that Python would not take. */
export interface Broken {
  readonly offset: number;
  readonly why: string | undefined;
}

/** Reads a source. Total, and in linear time. Every offset in the tree is that of the same character in the source. */
export function readPython(source: string): ReadSource {
  let text = source;
  let first: Broken | undefined;
  for (let round = 0; round < MOST_BROKEN; round++) {
    const attempt = tryToRead(text);
    if (!("why" in attempt)) return { ...attempt, broken: first };
    if (first === undefined || attempt.offset < first.offset) {
      first = { offset: attempt.offset, why: attempt.why };
    }
    const shorter = withoutStatement(text, attempt.offset, attempt.starts);
    if (shorter === text) break;
    text = shorter;
  }
  const rest = tryToRead(text.slice(0, first?.offset ?? 0));
  return { ...("why" in rest ? tryToReadNothing() : rest), broken: first };
}

type Attempt =
  | Omit<ReadSource, "broken">
  | Broken & { readonly starts: readonly number[] };

function tryToRead(text: string): Attempt {
  const { text: readable, refusal, execOffsets, lines } = legacyEdits(text);
  // What is open to the end makes one statement of the whole rest, so only its first line is taken out.
  if (refusal) return { ...refusal, starts: lineStartsOf(text) };
  const result = findBadIndentation(text, lines) ?? parseStrictly(readable);
  return "why" in result
    ? { ...result, starts: lines.map(({ start }) => start) }
    : { root: result, execOffsets };
}

function tryToReadNothing(): Omit<ReadSource, "broken"> {
  return { root: parser.parse("").topNode, execOffsets: [] };
}

function parseStrictly(text: string): Node | Broken {
  const parse = strict.startParse(text);
  try {
    for (;;) {
      const tree = parse.advance();
      if (tree) return checkTree(tree.topNode);
    }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { offset: parse.parsedPos, why: undefined };
  }
}

/** Beyond some thousand levels the parser builds trees with nodes of no type. Python itself refuses such a text. */
function checkTree(root: Node): Node | Broken {
  const cursor = root.cursor();
  do {
    if (!cursor.type) return { offset: cursor.from, why: "it is nested too deep" };
  } while (cursor.next());
  return root;
}
