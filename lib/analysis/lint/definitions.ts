/** Carries out the statements that define functions and classes. */
import type { Carrying } from "./engine.ts";
import { type ClassInfo, type FunctionInfo, type Scope, UNKNOWN, type Value } from "./program.ts";
import { defaultsOf, findChild, parametersOf } from "./statements.ts";
import { childrenOf, isExpression, type Node, textOf } from "./syntax.ts";

/** `def`. The body waits for a call; defaults are evaluated at once. */
export function executeFunction(definition: Node, carrying: Carrying): void {
  const { engine, frame } = carrying;
  const { source, module, owner } = frame.settings;
  for (const node of defaultsOf(definition)) engine.evaluate(node, frame);
  const name = findChild(definition, "VariableName");
  const body = findChild(definition, "Body");
  if (name === undefined || body === undefined) return;
  const fn: FunctionInfo = {
    name: textOf(name, source),
    module,
    source,
    body,
    owner,
    parameters: parametersOf(definition, source),
    enclosing: frame.visibleScopes(),
  };
  engine.run.functions.set(keyOf(fn), fn);
  frame.bind(fn.name, { kind: "function", fn });
}

/** `class`. Its body runs at once. */
export function executeClass(definition: Node, { engine, frame }: Carrying): void {
  const { source } = frame.settings;
  const bases = findChild(definition, "ArgList");
  if (bases) { for (const base of childrenOf(bases).filter(isExpression)) engine.evaluate(base, frame); }
  const members: Scope = new Map();
  const nameNode = findChild(definition, "VariableName");
  const cls: ClassInfo = { name: nameNode ? textOf(nameNode, source) : "", members };
  engine.executeBody(findChild(definition, "Body"), frame.inClass(cls));
  frame.bind(cls.name, { kind: "class", cls });
}

/** A definition with decorators. Each is a call, with the arguments in its brackets or with the definition. */
export function executeDecorated(
  statement: Node,
  carrying: Carrying,
  define: (definition: Node) => void,
): void {
  const { engine, frame } = carrying;
  for (const decorator of childrenOf(statement).filter(({ name }) => name === "Decorator")) {
    const [first, ...others] = childrenOf(decorator).filter(({ name }) => name === "VariableName");
    if (first === undefined) continue;
    const { source } = frame.settings;
    let callee: Value = frame.lookup(textOf(first, source));
    for (const part of others) {
      callee = callee.kind === "name"
        ? { kind: "name", name: `${callee.name}.${textOf(part, source)}` }
        : UNKNOWN;
    }
    engine.callWith(callee, decorator, frame);
  }
  for (const definition of childrenOf(statement).filter(({ name }) => name.endsWith("Definition"))) {
    define(definition);
  }
}

/** What makes a function the same one, however often its definition runs. */
export function keyOf({ source, body }: FunctionInfo): string {
  return `${source.path}\0${source.cell ?? ""}\0${body.from}`;
}
