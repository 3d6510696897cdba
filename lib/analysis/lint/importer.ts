/** Carries out import statements: runs the given files, and notes what other modules mean for CUDA. */
import type { Carrying, Engine } from "./engine.ts";
import type { Frame } from "./frame.ts";
import { type Import, modulePrefixes, readImports } from "./imports.ts";
import { effectOfModule, type ImportEffect } from "./known_modules.ts";
import { type ModuleInfo, type Scope, UNKNOWN, type Value } from "./program.ts";
import { withCudaStart, withFramework, withUnread } from "./state.ts";
import type { Node } from "./syntax.ts";

/** Carries out one import statement. */
export function performImport(statement: Node, carrying: Carrying): void {
  const importer = new Importer(statement, carrying);
  for (const found of readImports(statement, carrying.frame.settings.source)) importer.import(found);
}

/** Imports a module by a name that a call gives, as importlib.import_module does. */
export function performDynamicImport(name: string, call: Node, carrying: Carrying): Value {
  return new Importer(call, carrying).load(name);
}

class Importer {
  readonly #node: Node;
  readonly #frame: Frame;
  readonly #engine: Engine;

  constructor(node: Node, { engine, frame }: Carrying) {
    this.#node = node;
    this.#frame = frame;
    this.#engine = engine;
  }

  import(found: Import): void {
    const { module, level, names, isStar } = found;
    const own = this.#own(module, level);
    if (own === undefined) this.#foreign(found);
    if (isStar) this.#star(found, own);
    for (const { member, boundAs } of names) {
      const root = module.split(".")[0] ?? module;
      if (module === "os" || module.startsWith("os.")) this.#noteOs();
      if (member !== undefined) this.#frame.bind(boundAs, this.#member(found, member, own));
      // `import a.b` binds `a`, unless `as` says otherwise.
      else if (boundAs === root) this.#frame.bind(root, this.#root(root, level));
      else this.#frame.bind(boundAs, own ? moduleValue(own.at(-1)) : { kind: "name", name: module });
    }
  }

  load(name: string): Value {
    const own = this.#own(name, 0);
    if (own !== undefined) return moduleValue(own.at(-1));
    this.#foreign({ module: name, level: 0, names: [], isStar: false });
    return { kind: "name", name };
  }

  /** Runs the files that the name leads to, each known to its package afterwards. */
  #own(name: string, level: number): readonly ModuleInfo[] | undefined {
    const { module } = this.#frame.settings;
    const own = this.#engine.run.modules.resolve(module, name, level);
    if (own === undefined) return undefined;
    const parts = name.split(".");
    let parent: Scope | undefined;
    for (const [at, file] of own.entries()) {
      const scope = this.#engine.runModule(file, this.#frame, this.#node);
      if (own.length === parts.length) parent?.set(parts[at] ?? "", moduleValue(file));
      parent = scope;
    }
    return own;
  }

  #member({ module, level }: Import, member: string, own: readonly ModuleInfo[] | undefined): Value {
    const submodule = this.#own(module === "" ? member : `${module}.${member}`, level);
    if (submodule !== undefined) return moduleValue(submodule.at(-1));
    if (own === undefined) return level > 0 ? UNKNOWN : { kind: "name", name: `${module}.${member}` };
    const file = own.at(-1);
    if (file === undefined) {
      this.#noteUnread(`${".".repeat(level)}${module === "" ? "" : `${module}.`}${member}`);
    }
    return (file ? this.#engine.run.scopes.get(file)?.get(member) : undefined) ?? UNKNOWN;
  }

  #root(root: string, level: number): Value {
    const own = this.#engine.run.modules.resolve(this.#frame.settings.module, root, level);
    return own ? moduleValue(own.at(-1)) : { kind: "name", name: root };
  }

  #star({ module }: Import, own: readonly ModuleInfo[] | undefined): void {
    const file = own?.at(-1);
    if (file !== undefined) {
      for (const [name, value] of this.#engine.run.scopes.get(file) ?? []) {
        if (!name.startsWith("_")) this.#frame.bind(name, value);
      }
      return;
    }
    if (module === "os") {
      for (const name of ["environ", "putenv", "unsetenv", "system", "popen"]) {
        this.#frame.bind(name, { kind: "name", name: `os.${name}` });
      }
      return;
    }
    if (effectOfModule(module.split(".")[0] ?? module) === "plain") return;
    this.#engine.run.find({
      rule: "star-import",
      severity: "note",
      isDecided: false,
      place: this.#frame.settings.source.placeAt(this.#node.from),
      message:
        `All names of ${module} are imported at once, so the calls that start CUDA cannot all be told from others`,
      fix: "Import the module, or the names that are used",
    });
  }

  #noteOs(): void {
    const { module, source } = this.#frame.settings;
    const { osImports } = this.#engine.run;
    if (!osImports.has(module)) osImports.set(module, this.#engine.run.stepAt(this.#node, source).statement);
  }

  #noteUnread(name: string): void {
    const { run } = this.#engine;
    run.state = withUnread(run.state, name, run.happened(this.#node, this.#frame, `import ${name}`));
  }

  /** A module that is not among the sources. */
  #foreign({ module, level, names }: Import): void {
    const run = this.#engine.run;
    const paths = [...modulePrefixes(module), ...names.map(({ member }) => `${module}.${member ?? ""}`)];
    const known = level > 0 ? [] : paths.flatMap((name) => {
      const effect = effectOfModule(name);
      return effect === undefined ? [] : [{ name, effect }];
    });
    const first = module.split(".")[0] ?? module;
    const strongest = known.toSorted((a, b) => STRENGTH[b.effect] - STRENGTH[a.effect])[0];
    if (strongest === undefined) return this.#noteUnread(`${".".repeat(level)}${first}`);
    if (strongest.effect === "plain") return;
    const what = `import ${strongest.name.startsWith(module) ? strongest.name : module}`;
    const happened = run.happened(this.#node, this.#frame, what);
    run.state = withFramework(run.state, first, happened);
    if (strongest.effect === "loads") return;
    run.state = withCudaStart(run.state, { ...happened, isCertain: strongest.effect === "reads" });
  }
}

const STRENGTH: Readonly<Record<ImportEffect, number>> = { plain: 0, loads: 1, "may-read": 2, reads: 3 };

function moduleValue(module: ModuleInfo | undefined): Value {
  return module === undefined ? UNKNOWN : { kind: "module", module };
}
