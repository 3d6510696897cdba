import { parser } from "@lezer/python";
import type { SourceText } from "./source_text.ts";

/** A node of the parser's tree. Its name is that of the rule in the grammar of @lezer/python. */
export type Node = ReturnType<typeof parser.parse>["topNode"];

/**
 * Parses a source. Always gives a tree; what could not be parsed is in it as nodes that are errors. A text that is
 * nested too deep for Python gives an empty one: beyond some thousand levels the parser's own trees are broken.
 */
export function parsePython(source: SourceText): Node {
  return parser.parse(source.refusal?.isTooDeep === true ? "" : source.parsed).topNode;
}

/** The children of a node, comments left out. */
export function childrenOf(node: Node): Node[] {
  const children: Node[] = [];
  for (let child = node.firstChild; child; child = child.nextSibling) {
    if (child.name !== "Comment") children.push(child);
  }
  return children;
}

/** The source text of a node. */
export function textOf(node: Node, source: SourceText): string {
  return source.slice(node.from, node.to);
}

/** The offset of the first thing that could not be parsed. */
export function findSyntaxError(root: Node): number | undefined {
  const cursor = root.cursor();
  do {
    if (cursor.type.isError) return cursor.from;
  } while (cursor.next());
  return undefined;
}

/** Whether a node can be evaluated: a value rather than a keyword, an operator or punctuation. */
export function isExpression(node: Node): boolean {
  return EXPRESSIONS.has(node.name) || node.name.endsWith("Expression");
}

const EXPRESSIONS = new Set([
  "VariableName",
  "String",
  "FormatString",
  "ContinuedString",
  "Number",
  "Boolean",
  "None",
  "Ellipsis",
]);
