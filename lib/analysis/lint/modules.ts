import { modulePrefixes, readImports } from "./imports.ts";
import type { ModuleInfo } from "./program.ts";
import type { Node } from "./syntax.ts";

/** The given files as Python modules that import each other. */
export class ModuleTable {
  readonly #modules: ReadonlyMap<string, ModuleInfo>;
  readonly #folders: ReadonlySet<string>;

  constructor(modules: readonly ModuleInfo[]) {
    this.#modules = new Map(modules.map((module) => [tidy(module.path), module]));
    this.#folders = new Set([...this.#modules.keys()].flatMap(foldersOf));
  }

  /**
   * The files that importing this name runs, packages first. Empty when it names a package without a file of its own,
   * `undefined` when it leads outside the given files.
   */
  resolve(importer: ModuleInfo, name: string, level: number): readonly ModuleInfo[] | undefined {
    const folder = folderOf(tidy(importer.path));
    if (level > 0) {
      const base = foldersUpFrom(folder)[level - 1];
      return base === undefined ? undefined : this.#resolveBelow(base, name);
    }
    for (const base of foldersUpFrom(folder)) {
      const found = this.#resolveBelow(base, name);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** The files that no other one imports: what people run. All of them when they import each other in a ring. */
  entries(): readonly ModuleInfo[] {
    const all = [...this.#modules.values()];
    const imported = new Set(all.flatMap((module) => this.#importedBy(module)));
    const entries = all.filter((module) => !imported.has(module));
    return entries.length > 0 ? entries : all;
  }

  #importedBy(module: ModuleInfo): readonly ModuleInfo[] {
    return module.chunks.flatMap(({ source, root }) =>
      importStatements(root).flatMap((statement) => readImports(statement, source)).flatMap((found) => {
        const names = [found.module, ...found.names.map(({ member }) => `${found.module}.${member}`)];
        return names.flatMap((name) => this.resolve(module, trimDot(name), found.level) ?? []);
      })
    ).filter((other) => other !== module);
  }

  #resolveBelow(base: string, name: string): readonly ModuleInfo[] | undefined {
    if (name === "") return this.#ownFile(base);
    const prefixes = modulePrefixes(name).map((prefix) => join(base, prefix.replaceAll(".", "/")));
    const run: ModuleInfo[] = [];
    for (const path of prefixes) {
      const file = this.#modules.get(`${path}.py`);
      const own = this.#folders.has(path) ? this.#ownFile(path) : undefined;
      if (file === undefined && own === undefined) return undefined;
      // A package wins over a module of the same name (importlib.machinery.FileFinder).
      run.push(...(own ?? (file ? [file] : [])));
    }
    return run;
  }

  #ownFile(folder: string): readonly ModuleInfo[] {
    const file = this.#modules.get(join(folder, "__init__.py"));
    return file ? [file] : [];
  }
}

function importStatements(root: Node): readonly Node[] {
  const statements: Node[] = [];
  const cursor = root.cursor();
  do {
    if (cursor.name === "ImportStatement") statements.push(cursor.node);
  } while (cursor.next());
  return statements;
}

function trimDot(name: string): string {
  return name.startsWith(".") ? name.slice(1) : name;
}

function tidy(path: string): string {
  return path.split("/").filter((part) => part !== "." && part !== "").join("/");
}

function join(folder: string, name: string): string {
  return folder === "" ? name : `${folder}/${name}`;
}

function folderOf(path: string): string {
  const slash = path.lastIndexOf("/");
  return slash < 0 ? "" : path.slice(0, slash);
}

/** A folder and those above it, innermost first. */
function foldersUpFrom(folder: string): readonly string[] {
  const folders = [folder];
  for (let at = folder; at !== "";) {
    at = folderOf(at);
    folders.push(at);
  }
  return folders;
}

function foldersOf(path: string): readonly string[] {
  return foldersUpFrom(folderOf(path));
}
