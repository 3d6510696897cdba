/** Works out what an expression is, as far as that shows, and tells of every call in it in the order of evaluation. */
import { applySign, booleanValue, combine, concatenate, numberValue, textValue } from "./operators.ts";
import { type MappingEntry, UNKNOWN, type Value } from "./program.ts";
import type { SourceText } from "./source_text.ts";
import { decodeStringLiteral } from "./string_literal.ts";
import { childrenOf, isExpression, type Node, textOf } from "./syntax.ts";

/** Expressions nested deeper than this are not followed. */
const DEEPEST = 300;

/** One call: what is called, and with what. */
export interface Call {
  readonly node: Node;
  readonly callee: Value;
  /** Of `receiver.method(...)`: the name after the dot, and what stands before it. */
  readonly method: string | undefined;
  readonly receiver: Value;
  readonly positional: readonly Value[];
  readonly keywords: readonly MappingEntry[];
  /** Whether `*args` or `**kwargs` may add arguments. */
  readonly hasSpread: boolean;
}

/** Where an expression is evaluated. */
export interface Surroundings {
  readonly source: SourceText;
  lookup(name: string): Value;
  bind(name: string, value: Value): void;
  /** The attribute of a value that a source defines; `undefined` if it has none that is known. */
  findAttribute(owner: Value, name: string): Value | undefined;
  call(call: Call): Value;
  /** Evaluates something that may or may not come to be evaluated. */
  maybe(body: () => void): void;
  /** Told once an expression is too deep, or the whole too much. Nothing more is followed once it says `true`. */
  isSpent(node: Node, depth: number): boolean;
}

/** What the expression is worth. */
export function evaluate(node: Node, around: Surroundings, depth = 0): Value {
  if (depth > DEEPEST || around.isSpent(node, depth)) {
    around.isSpent(node, Infinity);
    return UNKNOWN;
  }
  const next = (child: Node) => evaluate(child, around, depth + 1);
  switch (node.name) {
    case "VariableName":
      return around.lookup(textOf(node, around.source));
    case "String":
      return textValue(decodeStringLiteral(textOf(node, around.source)));
    case "FormatString":
      return evaluateFormat(node, around, next);
    case "ContinuedString":
      return concatenate(childrenOf(node).map(next));
    case "Number":
      return numberValue(textOf(node, around.source));
    case "Boolean":
      return booleanValue(textOf(node, around.source) === "True");
    case "None":
      return { kind: "constant", type: "NoneType", text: "None", truth: false };
    case "ParenthesizedExpression":
      return childrenOf(node).filter(isExpression).map(next).at(-1) ?? UNKNOWN;
    case "MemberExpression":
      return evaluateMember(node, around, next).value;
    case "CallExpression":
      return evaluateCall(node, around, next);
    case "BinaryExpression":
      return evaluateBinary(node, around, next);
    case "ConditionalExpression":
      return evaluateConditional(node, around, next);
    case "NamedExpression":
      return evaluateNamed(node, around, next);
    case "DictionaryExpression":
      return evaluateDictionary(node, next);
    case "ArrayExpression":
    case "TupleExpression":
      return { kind: "list", items: childrenOf(node).filter(isExpression).map(next) };
    case "UnaryExpression":
      return evaluateUnary(node, around, next);
    case "LambdaExpression":
      return UNKNOWN;
  }
  const children = childrenOf(node).filter(isExpression);
  if (node.name.endsWith("ComprehensionExpression")) around.maybe(() => children.forEach(next));
  else children.forEach(next);
  return UNKNOWN;
}

type Next = (child: Node) => Value;

/** An attribute or an item, with what it was taken from. */
function evaluateMember(node: Node, around: Surroundings, next: Next) {
  const [base, mark, ...rest] = childrenOf(node);
  const receiver = base ? next(base) : UNKNOWN;
  if (mark?.name === "[") {
    rest.filter(isExpression).forEach(next);
    return { value: UNKNOWN, receiver, method: undefined };
  }
  const property = rest.find(({ name }) => name === "PropertyName");
  if (property === undefined) return { value: UNKNOWN, receiver, method: undefined };
  const method = textOf(property, around.source);
  if (receiver.kind === "name") {
    return { value: { kind: "name", name: `${receiver.name}.${method}` } as const, receiver, method };
  }
  return { value: around.findAttribute(receiver, method) ?? UNKNOWN, receiver, method };
}

function evaluateCall(node: Node, around: Surroundings, next: Next): Value {
  const [target, list] = childrenOf(node);
  if (target === undefined) return UNKNOWN;
  const { value: callee, receiver, method } = target.name === "MemberExpression"
    ? evaluateMember(target, around, next)
    : { value: next(target), receiver: UNKNOWN, method: undefined };
  const args = list ? evaluateArguments(list, around, next) : NO_ARGUMENTS;
  return around.call({ node, callee, receiver, method, ...args });
}

/** The arguments of a call, and whether more may come. */
export type Arguments = Pick<Call, "positional" | "keywords" | "hasSpread">;
const NO_ARGUMENTS: Arguments = { positional: [], keywords: [], hasSpread: false };

/** Evaluates what stands between the brackets of a call. */
export function evaluateArguments(list: Node, around: Surroundings, next: Next): Arguments {
  const positional: Value[] = [];
  const keywords: MappingEntry[] = [];
  let hasSpread = false;
  const children = childrenOf(list);
  if (children.some(({ name }) => name === "for")) {
    around.maybe(() => children.filter(isExpression).forEach(next));
    return { positional: [UNKNOWN], keywords, hasSpread };
  }
  for (const [at, child] of children.entries()) {
    const before = children[at - 1];
    if (!isExpression(child) || children[at + 1]?.name === "AssignOp") continue;
    const value = next(child);
    const name = children[at - 2];
    if (before?.name === "AssignOp" && name) keywords.push({ key: textOf(name, around.source), value });
    else if (before?.name === "*") hasSpread = true;
    else if (before?.name === "**") {
      if (value.kind === "mapping") keywords.push(...value.entries);
      hasSpread ||= value.kind !== "mapping" || !value.isWhole;
    } else positional.push(value);
  }
  return { positional, keywords, hasSpread };
}

function evaluateBinary(node: Node, around: Surroundings, next: Next): Value {
  const children = childrenOf(node);
  const [left, right] = children.filter(isExpression);
  const operator = children.find((child) => !isExpression(child));
  if (left === undefined) return UNKNOWN;
  const first = next(left);
  if (right === undefined) return UNKNOWN;
  if (operator?.name === "and" || operator?.name === "or") {
    around.maybe(() => next(right));
    return UNKNOWN;
  }
  const second = next(right);
  return combine(operator ? textOf(operator, around.source) : "", first, second);
}

function evaluateUnary(node: Node, around: Surroundings, next: Next): Value {
  const [operator] = childrenOf(node);
  const [operand] = childrenOf(node).filter(isExpression);
  return applySign(operator ? textOf(operator, around.source) : "", operand ? next(operand) : UNKNOWN);
}

function evaluateConditional(node: Node, around: Surroundings, next: Next): Value {
  const [whenTrue, condition, whenFalse] = childrenOf(node).filter(isExpression);
  if (condition) next(condition);
  let first = UNKNOWN;
  let second = UNKNOWN;
  if (whenTrue) around.maybe(() => void (first = next(whenTrue)));
  if (whenFalse) around.maybe(() => void (second = next(whenFalse)));
  return first.kind === "text" && second.kind === "text" && first.text === second.text ? first : UNKNOWN;
}

function evaluateNamed(node: Node, around: Surroundings, next: Next): Value {
  const [target, source] = childrenOf(node).filter(isExpression);
  const value = source ? next(source) : UNKNOWN;
  if (target?.name === "VariableName") around.bind(textOf(target, around.source), value);
  return value;
}

function evaluateDictionary(node: Node, next: Next): Value {
  const entries: MappingEntry[] = [];
  let isWhole = true;
  const children = childrenOf(node);
  for (const [at, child] of children.entries()) {
    if (!isExpression(child)) continue;
    if (children[at - 1]?.name === "**") {
      const spread = next(child);
      if (spread.kind === "mapping") entries.push(...spread.entries);
      isWhole &&= spread.kind === "mapping" && spread.isWhole;
    } else if (children[at + 1]?.name === ":") {
      const key = next(child);
      const source = children[at + 2];
      const value = source && isExpression(source) ? next(source) : UNKNOWN;
      if (key.kind === "text") entries.push({ key: key.text, value });
      else isWhole = false;
    }
  }
  return { kind: "mapping", entries, isWhole };
}

function evaluateFormat(node: Node, around: Surroundings, next: Next): Value {
  const replacements = childrenOf(node).filter(({ name }) => name === "FormatReplacement");
  for (const replacement of replacements) childrenOf(replacement).filter(isExpression).forEach(next);
  if (replacements.length > 0) return UNKNOWN;
  const text = decodeStringLiteral(textOf(node, around.source));
  return textValue(text?.replaceAll("{{", "{").replaceAll("}}", "}"));
}
