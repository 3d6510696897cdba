import type { parser } from "@lezer/python";
import type { SourceText } from "./source_text.ts";

/** A node of the parser's tree. Its name is that of the rule in the grammar of @lezer/python. */
export type Node = ReturnType<typeof parser.parse>["topNode"];

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
