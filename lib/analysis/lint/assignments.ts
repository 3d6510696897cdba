/** Carries out what gives names and items a value, or takes it away. */
import { performAct } from "./acts.ts";
import type { Carrying } from "./engine.ts";
import { isEnvironment, mergeMapping, removeItem, setItem } from "./environment.ts";
import { UNKNOWN, type Value } from "./program.ts";
import { assignmentGroups } from "./statements.ts";
import { childrenOf, isExpression, type Node, textOf } from "./syntax.ts";

/** `a = b = value`, with or without a type. */
export function executeAssign(statement: Node, carrying: Carrying): void {
  const groups = assignmentGroups(statement);
  const values = groups.length > 1 ? groups.at(-1) ?? [] : [];
  const items = values.map((node) => carrying.engine.evaluate(node, carrying.frame));
  const [first = UNKNOWN] = items;
  const value: Value = items.length > 1 ? { kind: "list", items } : first;
  for (const targets of groups.slice(0, -1)) assignTo(targets, value, { ...carrying, statement });
}

/** `a += value`, `os.environ |= mapping`. */
export function executeUpdate(statement: Node, carrying: Carrying): void {
  const { engine, frame } = carrying;
  const [targets = [], values = []] = assignmentGroups(statement);
  const [target] = targets;
  const items = values.map((node) => engine.evaluate(node, frame));
  if (target === undefined) return;
  const item = environmentItem(target, carrying);
  if (item) performAct(setItem(item, UNKNOWN), statement, carrying);
  else if (isEnvironment(engine.evaluate(target, frame))) {
    mergeMapping(items[0] ?? UNKNOWN).forEach((act) => performAct(act, statement, carrying));
  } else if (target.name === "VariableName") frame.bind(textOf(target, frame.settings.source), UNKNOWN);
}

/** `del a, os.environ[key]`. */
export function executeDelete(statement: Node, carrying: Carrying): void {
  const { source } = carrying.frame.settings;
  for (const target of childrenOf(statement).filter(isExpression)) {
    const item = environmentItem(target, carrying);
    if (item) performAct(removeItem(item), statement, carrying);
    else if (target.name === "VariableName") carrying.frame.bind(textOf(target, source), UNKNOWN);
  }
}

function assignTo(
  targets: readonly Node[],
  value: Value,
  carrying: Carrying & { readonly statement: Node },
): void {
  const [target] = targets;
  if (target === undefined) return;
  if (targets.length > 1) {
    const items = value.kind === "list" && value.items.length === targets.length ? value.items : [];
    for (const [at, each] of targets.entries()) assignTo([each], items[at] ?? UNKNOWN, carrying);
    return;
  }
  const { engine, frame, statement } = carrying;
  switch (target.name) {
    case "VariableName":
      return frame.bind(textOf(target, frame.settings.source), value);
    case "TupleExpression":
    case "ArrayExpression":
    case "ParenthesizedExpression":
      return assignTo(childrenOf(target).filter(isExpression), value, carrying);
    case "MemberExpression": {
      const item = environmentItem(target, carrying);
      if (item) performAct(setItem(item, value), statement, carrying);
      else if (isEnvironment(engine.evaluate(target, frame))) {
        performAct({ kind: "replace" }, statement, carrying);
      }
    }
  }
}

/** The key of `os.environ[key]`; `undefined` for anything else. */
function environmentItem(target: Node, { engine, frame }: Carrying): Value | undefined {
  if (target.name !== "MemberExpression") return undefined;
  const [base, mark, key] = childrenOf(target);
  if (base === undefined || mark?.name !== "[" || !isEnvironment(engine.evaluate(base, frame))) {
    return undefined;
  }
  return key && isExpression(key) ? engine.evaluate(key, frame) : UNKNOWN;
}
