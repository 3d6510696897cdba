import type { Frame } from "./frame.ts";
import type { ModuleInfo, Scope, Value } from "./program.ts";
import type { Run } from "./run.ts";
import type { Node } from "./syntax.ts";

/** What the parts of the interpreter need of each other. */
export interface Engine {
  readonly run: Run;
  evaluate(node: Node, frame: Frame): Value;
  /** Evaluates whatever expressions a statement has. */
  evaluateChildren(node: Node, frame: Frame): void;
  executeBody(body: Node | undefined, frame: Frame): void;
  /** Runs a module once, and gives its names. */
  runModule(module: ModuleInfo, importer: Frame, statement: Node): Scope;
  /** Calls something with arguments of which nothing is known. */
  callWith(callee: Value, node: Node, frame: Frame): void;
}

/** A statement, and where it is carried out. */
export interface Carrying {
  readonly engine: Engine;
  readonly frame: Frame;
}
