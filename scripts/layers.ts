/** Who may import whom. One table; `check_layers.ts` asks Deno for the imports and holds them against it. */

/** What a layer may import besides itself. */
interface Layer {
  readonly may: readonly string[];
  /** Imports of types alone. */
  readonly mayTypesOf?: readonly string[];
  /** Packages, by the name under which deno.json lists them. */
  readonly packages?: readonly string[];
  /** Holds no I/O: not even `node:` modules, so that equal input gives equal output. */
  readonly isPure?: boolean;
}

const CORE = "lib/core/";
const MODEL = "lib/model/";
const NATIVE = "lib/native/";
const ANALYSIS = "lib/analysis/";
const RENDER = "lib/render/";
const ACTION = "lib/action/";
const PROC = "lib/proc/";
/** The door and the rooms behind it. */
const PORTS = "lib/world/ports";
/** For the version, which is written there and nowhere else. */
const MANIFEST = "deno.json";

/** The longest path that a module's own begins with is its layer. */
export const LAYERS: Readonly<Record<string, Layer>> = {
  [CORE]: { may: [MANIFEST], isPure: true },
  [MODEL]: { may: [CORE], packages: ["valibot"], isPure: true },
  [NATIVE]: { may: [CORE] },
  [PORTS]: { may: [CORE, MODEL], isPure: true },
  [ANALYSIS]: { may: [CORE, MODEL], packages: ["@lezer/python"], isPure: true },
  [RENDER]: {
    may: [CORE, MODEL],
    mayTypesOf: [ANALYSIS],
    packages: ["@valibot/to-json-schema", "csv-stringify", "fast-string-width"],
    isPure: true,
  },
  [ACTION]: { may: [CORE, MODEL, ANALYSIS, PORTS] },
  [PROC]: { may: [CORE, MODEL, NATIVE, PORTS] },
  "lib/source/": {
    may: [CORE, MODEL, NATIVE, PROC, PORTS],
    packages: ["csv-parse", "saxes", "smol-toml", "valibot"],
  },
  "lib/world/": { may: ["lib/"] },
  "commands/": {
    may: [CORE, MODEL, ANALYSIS, RENDER, ACTION, PORTS],
    packages: ["commander", "@commander-js/extra-typings", "smol-toml"],
  },
  "mod.ts": {
    may: ["commands/", CORE, "lib/world/"],
    packages: ["commander", "@commander-js/extra-typings"],
  },
};

/** One import of a module as Deno resolved it. */
export interface Import {
  /** A path from the root, a `node:` module, or the name under which a package was imported. */
  readonly target: string;
  readonly isTypeOnly: boolean;
}
/** The imports of each module, by its path from the root. */
export type ModuleGraph = ReadonlyMap<string, readonly Import[]>;

/** A sentence for each import that its layer may not have, each module without a layer, and each circle. */
export function findBreaches(graph: ModuleGraph): string[] {
  return [...[...graph].flatMap(([path, imports]) => breachesOf(path, imports)), ...findCircles(graph)];
}

function breachesOf(path: string, imports: readonly Import[]): string[] {
  const name = layerOf(path);
  const layer = name === undefined ? undefined : LAYERS[name];
  if (name === undefined || layer === undefined) return [`${path} is in no layer`];
  return imports.flatMap((imported) => {
    const why = objection(name, layer, imported);
    return why === undefined ? [] : [`${path} may not import ${imported.target}: ${why}`];
  });
}

function objection(name: string, layer: Layer, { target, isTypeOnly }: Import): string | undefined {
  if (target.startsWith("node:")) return layer.isPure ? `${name} is pure` : undefined;
  if (layerOf(target) === undefined && target !== MANIFEST) {
    const isListed = layer.packages?.some((known) => target === known || target.startsWith(`${known}/`));
    return isListed ? undefined : `${name} has no use for this package`;
  }
  const allowed = [name, ...layer.may, ...isTypeOnly ? layer.mayTypesOf ?? [] : []];
  if (allowed.some((prefix) => target.startsWith(prefix))) return undefined;
  return layer.mayTypesOf?.some((prefix) => target.startsWith(prefix))
    ? `${name} may import its types only`
    : `${name} may import ${[...layer.may, ...layer.mayTypesOf ?? []].join(", ")}`;
}

function layerOf(path: string): string | undefined {
  return Object.keys(LAYERS).filter((prefix) => path.startsWith(prefix)).sort((a, b) =>
    b.length - a.length
  )[0];
}

/** Imports that lead back to where they began, each circle once. Types count: such files are one file. */
function findCircles(graph: ModuleGraph): string[] {
  const circles: string[] = [];
  const finished = new Set<string>();
  const visit = (path: string, trail: readonly string[]) => {
    const start = trail.indexOf(path);
    if (start >= 0) circles.push(`import circle: ${[...trail.slice(start), path].join(" -> ")}`);
    if (start >= 0 || finished.has(path)) return;
    for (const { target } of graph.get(path) ?? []) visit(target, [...trail, path]);
    finished.add(path);
  };
  for (const path of graph.keys()) visit(path, []);
  return circles;
}
