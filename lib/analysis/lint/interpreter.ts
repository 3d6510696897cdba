/**
 * Goes through a program in the order in which Python would, following its imports and calls into the given files, and
 * notes what bears on the GPUs that it will see. It never runs anything: where a path depends on data, it takes both.
 */
import { performAct, performMagic } from "./acts.ts";
import { executeAssign, executeDelete, executeUpdate } from "./assignments.ts";
import { executeIf, executeLoop, executeMatch, executeTry } from "./branches.ts";
import { findCudaStart } from "./cuda_calls.ts";
import { executeClass, executeDecorated, executeFunction, keyOf } from "./definitions.ts";
import type { Engine } from "./engine.ts";
import { actsOfCall } from "./environment.ts";
import { type Arguments, type Call, evaluate, evaluateArguments, type Surroundings } from "./evaluate.ts";
import { Frame } from "./frame.ts";
import { performDynamicImport, performImport } from "./importer.ts";
import { type FunctionInfo, type ModuleInfo, type Scope, UNKNOWN, type Value } from "./program.ts";
import { REMARKS } from "./remarks.ts";
import { resultOfCall } from "./results.ts";
import type { Run } from "./run.ts";
import { type State, withCudaStart } from "./state.ts";
import { findChild } from "./statements.ts";
import { childrenOf, isExpression, type Node, textOf } from "./syntax.ts";

const CODE_AT_RUN_TIME: ReadonlySet<string> = new Set([
  "builtins.exec",
  "builtins.eval",
  "builtins.execfile",
  "runpy.run_path",
  "runpy.run_module",
]);
const IMPORTS_AT_RUN_TIME: ReadonlySet<string> = new Set(["importlib.import_module", "builtins.__import__"]);

/** Carries out one run. */
export class Interpreter implements Engine {
  readonly run: Run;
  /** Where a function led from a state: calling it again from there leads to the same. */
  readonly #outcomes = new Map<string, WeakMap<State, State>>();
  readonly #active = new Set<string>();
  readonly #onceLoaded = new Map<ModuleInfo, State>();

  constructor(run: Run) {
    this.run = run;
  }

  /** Runs the file that a person runs, and then the functions of which no call was seen. */
  runProgram(): void {
    this.#load(this.run.program, undefined);
    // A function that runs may define others.
    for (const [key, fn] of this.run.functions) {
      if (!this.run.called.has(key)) this.#runUncalled(fn);
    }
  }

  runModule(module: ModuleInfo, frame: Frame, statement: Node): Scope {
    return this.#load(module, { frame, statement });
  }

  #load(
    module: ModuleInfo,
    importer: { readonly frame: Frame; readonly statement: Node } | undefined,
  ): Scope {
    const before = this.run.scopes.get(module);
    if (before !== undefined) return before;
    const isEntry = importer === undefined;
    const globals: Scope = new Map([["__name__", {
      kind: "text",
      text: isEntry ? "__main__" : module.path,
    }]]);
    this.run.scopes.set(module, globals);
    const around = importer?.frame.settings;
    const step = importer && around && this.run.stepAt(importer.statement, around.source);
    for (const { source, root } of module.chunks) {
      this.#executeAll(
        childrenOf(root),
        Frame.ofModule(module, {
          source,
          globals,
          isConditional: around?.isConditional ?? false,
          uncalled: around?.uncalled,
          importedAt: step && around ? [...around.importedAt, step] : [],
        }),
      );
    }
    this.run.loaded.set(module, this.run.state);
    return globals;
  }

  /** Runs a function as if it were called some time after its module was loaded. */
  #runUncalled(fn: FunctionInfo): void {
    const { module, source, owner, name } = fn;
    this.run.state = this.#stateOnceLoaded(module);
    const globals = this.run.scopes.get(module) ?? new Map();
    const frame = Frame.ofModule(module, {
      source,
      globals,
      isConditional: false,
      uncalled: name,
      importedAt: [],
    });
    this.#callFunction(fn, frame, owner ? { kind: "instance", cls: owner } : undefined);
  }

  #stateOnceLoaded(module: ModuleInfo): State {
    const before = this.#onceLoaded.get(module);
    if (before !== undefined) return before;
    const loaded = this.run.loaded.get(module) ?? this.run.state;
    // What the main program goes on to do says nothing of a function that another process or thread may run.
    const cudaStart = module === this.run.program ? undefined : loaded.cudaStart;
    const state: State = { ...loaded, cudaStart, settings: new Map() };
    this.#onceLoaded.set(module, state);
    return state;
  }

  executeBody(body: Node | undefined, frame: Frame): void {
    if (body) this.#executeAll(childrenOf(body).filter(({ name }) => name !== ":"), frame);
  }

  #executeAll(statements: readonly Node[], frame: Frame): void {
    const { source } = frame.settings;
    for (const statement of statements) {
      if (this.run.isSpent(() => source.placeAt(statement.from))) return;
      this.run.inStatement(statement, source, () => this.#execute(statement, frame));
    }
  }

  #execute(statement: Node, frame: Frame): void {
    const carrying = { engine: this, frame };
    switch (statement.name) {
      case "StatementGroup":
        return this.#executeAll(childrenOf(statement).filter(({ name }) => name !== ";"), frame);
      case "ImportStatement":
        return performImport(statement, carrying);
      case "AssignStatement":
        return executeAssign(statement, carrying);
      case "UpdateStatement":
        return executeUpdate(statement, carrying);
      case "DeleteStatement":
        return executeDelete(statement, carrying);
      case "IfStatement":
        return executeIf(statement, carrying);
      case "MatchStatement":
        return executeMatch(statement, carrying);
      case "ForStatement":
      case "WhileStatement":
        return executeLoop(statement, carrying);
      case "TryStatement":
        return executeTry(statement, carrying);
      case "WithStatement":
        this.evaluateChildren(statement, frame);
        return this.executeBody(findChild(statement, "Body"), frame);
      case "FunctionDefinition":
        return executeFunction(statement, carrying);
      case "ClassDefinition":
        return executeClass(statement, carrying);
      case "DecoratedStatement":
        return executeDecorated(statement, carrying, (definition) => this.#execute(definition, frame));
      case "ScopeStatement":
        return childrenOf(statement).filter(({ name }) => name === "VariableName")
          .forEach((name) => frame.declareGlobal(textOf(name, frame.settings.source)));
    }
    const magic = frame.settings.source.findMagic(statement.from);
    if (magic) return performMagic(magic, statement, carrying);
    this.evaluateChildren(statement, frame);
  }

  evaluateChildren(node: Node, frame: Frame): void {
    for (const child of childrenOf(node).filter(isExpression)) this.evaluate(child, frame);
  }

  evaluate(node: Node, frame: Frame): Value {
    return evaluate(node, this.#around(frame));
  }

  callWith(callee: Value, node: Node, frame: Frame): void {
    const list = findChild(node, "ArgList");
    const around = this.#around(frame);
    const args: Arguments = list
      ? evaluateArguments(list, around, (child) => evaluate(child, around))
      : { positional: [UNKNOWN], keywords: [], hasSpread: false };
    this.#call({ node, callee, receiver: UNKNOWN, method: undefined, ...args }, frame);
  }

  #around(frame: Frame): Surroundings {
    let here = frame;
    const { source } = frame.settings;
    return {
      source,
      lookup: (name) => here.lookup(name),
      bind: (name, value) => here.bind(name, value),
      findAttribute: (owner, name) => this.#findAttribute(owner, name),
      call: (call) => this.#call(call, here),
      maybe: (body) => {
        const before = here;
        here = before.onBranch();
        this.run.paths([body], { orNone: true });
        here = before;
      },
      isSpent: (node, depth) => this.run.isSpent(() => source.placeAt(node.from), depth),
    };
  }

  #findAttribute(owner: Value, name: string): Value | undefined {
    if (owner.kind === "module") return this.run.scopes.get(owner.module)?.get(name);
    if (owner.kind !== "class" && owner.kind !== "instance") return undefined;
    const member = owner.cls.members.get(name);
    return member?.kind === "function" && owner.kind === "instance" ? { ...member, self: owner } : member;
  }

  #call(call: Call, frame: Frame): Value {
    const { callee, node } = call;
    const { source } = frame.settings;
    if (callee.kind === "function") this.#callFunction(callee.fn, frame, callee.self);
    if (callee.kind === "class") {
      const self: Value = { kind: "instance", cls: callee.cls };
      const begin = callee.cls.members.get("__init__");
      if (begin?.kind === "function") this.#callFunction(begin.fn, frame, self);
      return self;
    }
    const carrying = { engine: this, frame };
    for (const act of actsOfCall(call)) performAct(act, node, carrying);
    if (callee.kind === "name" && IMPORTS_AT_RUN_TIME.has(callee.name)) {
      const [name] = call.positional;
      if (name?.kind === "text") return performDynamicImport(name.text, node, carrying);
      this.run.find({ ...REMARKS.import, place: source.placeAt(node.from) });
    }
    if (callee.kind === "name" && CODE_AT_RUN_TIME.has(callee.name)) {
      this.run.find({ ...REMARKS.code, place: source.placeAt(node.from) });
    }
    const start = findCudaStart(call, this.run.state.frameworks);
    if (start) {
      const happened = this.run.happened(node, frame, start.what, start.isCertain);
      this.run.state = withCudaStart(this.run.state, happened);
    }
    return resultOfCall(call);
  }

  #callFunction(fn: FunctionInfo, frame: Frame, self: Value | undefined): void {
    const key = keyOf(fn);
    this.run.called.add(key);
    if (this.#active.has(key)) return;
    const { isConditional, uncalled } = frame.settings;
    const outcomeKey = JSON.stringify([key, isConditional, uncalled !== undefined]);
    const outcomes = this.#outcomes.get(outcomeKey) ?? new WeakMap<State, State>();
    this.#outcomes.set(outcomeKey, outcomes);
    const before = this.run.state;
    const outcome = outcomes.get(before);
    if (outcome !== undefined) {
      this.run.state = outcome;
      return;
    }
    this.#active.add(key);
    this.executeBody(fn.body, frame.inFunction(fn, this.run.scopes.get(fn.module) ?? new Map(), self));
    this.#active.delete(key);
    outcomes.set(before, this.run.state);
  }
}
