/** Takes the parser's compound statements apart. */
import type { SourceText } from "./source_text.ts";
import { childrenOf, isExpression, type Node, textOf } from "./syntax.ts";

/** One way through an `if`, `match` or `try`: what is evaluated first, and the body. */
export interface Arm {
  /** The keyword in front: `if`, `elif`, `else`, `except`, `finally`, `try`, `case`. */
  readonly keyword: string;
  readonly tests: readonly Node[];
  readonly body: Node;
}

/** The arms of a statement that is made of keywords, expressions and bodies. */
export function armsOf(statement: Node): readonly Arm[] {
  const arms: Arm[] = [];
  let keyword = "";
  let tests: Node[] = [];
  for (const child of childrenOf(statement)) {
    if (child.name === "Body") {
      arms.push({ keyword, tests, body: child });
      tests = [];
    } else if (isExpression(child)) tests.push(child);
    else if (ARM_KEYWORDS.has(child.name)) keyword = child.name;
  }
  return arms;
}

const ARM_KEYWORDS = new Set([
  "if",
  "elif",
  "else",
  "try",
  "except",
  "finally",
  "for",
  "while",
  "with",
  "class",
  "def",
]);

/** The clauses of a `match` statement. */
export function clausesOf(statement: Node): readonly Arm[] {
  const body = childrenOf(statement).find(({ name }) => name === "MatchBody");
  const clauses = body ? childrenOf(body).filter(({ name }) => name === "MatchClause") : [];
  return clauses.flatMap((clause) => {
    const children = childrenOf(clause);
    const block = children.find(({ name }) => name === "Body");
    const guard = children.find(({ name }) => name === "Guard");
    return block
      ? [{ keyword: "case", tests: guard ? childrenOf(guard).filter(isExpression) : [], body: block }]
      : [];
  });
}

/** The groups of expressions between the signs of an assignment: its targets, and last its value. */
export function assignmentGroups(statement: Node): readonly (readonly Node[])[] {
  const groups: Node[][] = [[]];
  for (const child of childrenOf(statement)) {
    if (child.name === "AssignOp" || child.name === "UpdateOp") groups.push([]);
    else if (isExpression(child)) groups.at(-1)?.push(child);
  }
  return groups;
}

/** The targets and the iterated expressions of a `for` statement. */
export function forParts(
  statement: Node,
): { readonly targets: readonly Node[]; readonly iterated: readonly Node[] } {
  const children = childrenOf(statement);
  const at = children.findIndex(({ name }) => name === "in");
  const end = children.findIndex(({ name }) => name === "Body");
  return {
    targets: children.slice(0, at).filter(isExpression),
    iterated: children.slice(at + 1, end < 0 ? undefined : end).filter(isExpression),
  };
}

/** The names of a function's parameters, in order. */
export function parametersOf(definition: Node, source: SourceText): readonly string[] {
  const list = childrenOf(definition).find(({ name }) => name === "ParamList");
  if (list === undefined) return [];
  const children = childrenOf(list);
  return children.filter((child, at) =>
    child.name === "VariableName" && children[at - 1]?.name !== "AssignOp"
  )
    .map((child) => textOf(child, source));
}

/** The expressions that are evaluated when a function is defined: the defaults of its parameters. */
export function defaultsOf(definition: Node): readonly Node[] {
  const list = childrenOf(definition).find(({ name }) => name === "ParamList");
  const children = list ? childrenOf(list) : [];
  return children.filter((child, at) => isExpression(child) && children[at - 1]?.name === "AssignOp");
}

/** The first child of that name. */
export function findChild(node: Node, name: string): Node | undefined {
  return childrenOf(node).find((child) => child.name === name);
}
