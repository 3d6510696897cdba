import {
  type ClassInfo,
  type FunctionInfo,
  isPointer,
  isSame,
  type ModuleInfo,
  type Scope,
  UNKNOWN,
  type Value,
} from "./program.ts";
import type { SourceText } from "./source_text.ts";
import type { Step } from "./state.ts";

/** Built-in functions that matter; any other name that nothing binds is unknown. */
const BUILT_INS: ReadonlySet<string> = new Set(["exec", "eval", "execfile", "__import__", "str", "dict"]);

interface Settings {
  readonly module: ModuleInfo;
  readonly source: SourceText;
  /** Where an assignment puts a name. */
  readonly scope: Scope;
  /** The scopes of the functions around, innermost first. */
  readonly enclosing: readonly Scope[];
  readonly globals: Scope;
  /** The class whose body this is. */
  readonly owner: ClassInfo | undefined;
  /** Whether what happens here happens on some paths of the program only. */
  readonly isConditional: boolean;
  /** Whether that is so within this function or module alone: a name may then have its value from before. */
  readonly isBranch: boolean;
  /** The function that runs without any call of it being seen. */
  readonly uncalled: string | undefined;
  readonly importedAt: readonly Step[];
}

/** One function call, class body or module at the moment when it runs. */
export class Frame {
  readonly settings: Settings;
  readonly #declaredGlobal: Set<string>;

  constructor(settings: Settings, declaredGlobal = new Set<string>()) {
    this.settings = settings;
    this.#declaredGlobal = declaredGlobal;
  }

  /** The top of a module. */
  static ofModule(
    module: ModuleInfo,
    settings: Pick<Settings, "source" | "globals" | "isConditional" | "uncalled" | "importedAt">,
  ): Frame {
    const { globals } = settings;
    return new Frame({
      ...settings,
      module,
      scope: globals,
      enclosing: [],
      owner: undefined,
      isBranch: false,
    });
  }

  /** The same place on a path that may not be taken. */
  onBranch(): Frame {
    return new Frame({ ...this.settings, isConditional: true, isBranch: true }, this.#declaredGlobal);
  }

  /** The body of a class that is defined here. */
  inClass(cls: ClassInfo): Frame {
    return new Frame({ ...this.settings, scope: cls.members, enclosing: this.visibleScopes(), owner: cls });
  }

  /** The body of a function, called from here. */
  inFunction(fn: FunctionInfo, globals: Scope, self: Value | undefined): Frame {
    const scope: Scope = new Map(fn.parameters.map((name) => [name, UNKNOWN]));
    const [first] = fn.parameters;
    if (self !== undefined && first !== undefined) scope.set(first, self);
    const { module, source, enclosing } = fn;
    const isBranch = false;
    return new Frame({
      ...this.settings,
      module,
      source,
      enclosing,
      globals,
      scope,
      isBranch,
      owner: undefined,
    });
  }

  /** Scopes that a function defined here can see, besides the module's. Those of classes are not among them. */
  visibleScopes(): readonly Scope[] {
    const { scope, globals, enclosing, owner } = this.settings;
    return scope === globals || owner ? enclosing : [scope, ...enclosing];
  }

  declareGlobal(name: string): void {
    this.#declaredGlobal.add(name);
  }

  lookup(name: string): Value {
    const { scope, enclosing, globals } = this.settings;
    for (const candidate of [scope, ...enclosing, globals]) {
      const value = candidate.get(name);
      if (value !== undefined) return value;
    }
    return BUILT_INS.has(name) ? { kind: "name", name: `builtins.${name}` } : UNKNOWN;
  }

  /** Gives a name a value. On a branch the name may keep the one it has, so it is known only if both are the same. */
  bind(name: string, value: Value): void {
    const { scope, globals, isBranch } = this.settings;
    const target = this.#declaredGlobal.has(name) ? globals : scope;
    const before = target.get(name);
    if (!isBranch || before === undefined || isSame(before, value)) target.set(name, value);
    // `torch = None` where an import failed: what matters is the path on which it did not.
    else if (!isPointer(before)) target.set(name, isPointer(value) ? value : UNKNOWN);
  }
}
