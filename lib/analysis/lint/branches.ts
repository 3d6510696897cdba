/** Carries out the statements of which a program takes one path or another. */
import type { Carrying } from "./engine.ts";
import { UNKNOWN, type Value } from "./program.ts";
import { type Arm, armsOf, clausesOf, forParts } from "./statements.ts";
import { type Node, textOf } from "./syntax.ts";

/** `if`, `elif`, `else`. A condition that is known decides. */
export function executeIf(statement: Node, carrying: Carrying): void {
  const { engine, frame } = carrying;
  const open: Arm[] = [];
  for (const arm of armsOf(statement)) {
    const truth = arm.keyword === "else" ? true : truthOf(evaluateAll(arm.tests, carrying));
    if (truth === false) continue;
    if (truth === true && open.length === 0) return engine.executeBody(arm.body, frame);
    open.push(arm);
    if (truth === true) return choose(open, { ...carrying, orNone: false });
  }
  choose(open, { ...carrying, orNone: true });
}

/** `match` and its cases. */
export function executeMatch(statement: Node, carrying: Carrying): void {
  carrying.engine.evaluateChildren(statement, carrying.frame);
  choose(clausesOf(statement), { ...carrying, orNone: true });
}

/** `for` and `while`. What starts CUDA in the first round has started it before the second. */
export function executeLoop(statement: Node, carrying: Carrying): void {
  const { engine, frame } = carrying;
  const [arm, otherwise] = armsOf(statement);
  if (arm === undefined) return;
  if (statement.name === "ForStatement") {
    const { targets, iterated } = forParts(statement);
    evaluateAll(iterated, carrying);
    for (const target of targets) {
      if (target.name === "VariableName") frame.bind(textOf(target, frame.settings.source), UNKNOWN);
    }
  }
  const isEndless = statement.name === "WhileStatement" && truthOf(evaluateAll(arm.tests, carrying)) === true;
  const inside = isEndless ? frame : frame.onBranch();
  const { run } = engine;
  run.paths([() => {
    const before = run.state.cudaStart;
    engine.executeBody(arm.body, inside);
    if (run.state.cudaStart !== before) engine.executeBody(arm.body, inside);
  }], { orNone: !isEndless });
  if (otherwise) engine.executeBody(otherwise.body, frame);
}

/** `try`. What it tries is taken to succeed; its handlers are side paths. */
export function executeTry(statement: Node, { engine, frame }: Carrying): void {
  const before = engine.run.state;
  for (const { keyword, tests, body } of armsOf(statement)) {
    if (keyword !== "except") {
      engine.executeBody(body, frame);
      continue;
    }
    engine.run.sidePath(before, () => {
      evaluateAll(tests, { engine, frame });
      engine.executeBody(body, frame.onBranch());
    });
  }
}

function choose(
  arms: readonly Arm[],
  { engine, frame, orNone }: Carrying & { readonly orNone: boolean },
): void {
  if (arms.length === 0) return;
  const inside = frame.onBranch();
  engine.run.paths(
    arms.map(({ keyword, tests, body }) => () => {
      if (keyword === "case") evaluateAll(tests, { engine, frame: inside });
      engine.executeBody(body, inside);
    }),
    { orNone },
  );
}

function evaluateAll(nodes: readonly Node[], { engine, frame }: Carrying): Value {
  return nodes.map((node) => engine.evaluate(node, frame)).at(-1) ?? UNKNOWN;
}

/** What a condition comes to, where that is certain. */
function truthOf(value: Value): boolean | undefined {
  if (value.kind === "constant") return value.truth;
  // Only type checkers take this branch (typing.TYPE_CHECKING).
  return value.kind === "name" && value.name === "typing.TYPE_CHECKING" ? false : undefined;
}
