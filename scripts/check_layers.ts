/** Fails if a module imports what its layer may not see. `check_layers.ts [ROOT]` */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { findBreaches, type Import, type ModuleGraph } from "./layers.ts";
import { say, warn } from "./say.ts";
import { DENO, ROOT } from "./toolchain.ts";

/** What `deno info --json` says of one module; the parts that are used here. */
interface ModuleInfo {
  readonly specifier: string;
  readonly error?: string;
  readonly dependencies?: readonly {
    readonly specifier: string;
    readonly code?: { readonly specifier?: string; readonly error?: string };
    readonly type?: { readonly specifier?: string; readonly error?: string };
  }[];
}

const root = realpathSync(process.argv[2] ?? ROOT);
const modules = ["lib", "commands"].flatMap(modulesUnder).concat(
  existsSync(join(root, "mod.ts")) ? ["mod.ts"] : [],
);
const breaches = findBreaches(readGraph(modules));
for (const breach of breaches) warn(breach);
say(`${modules.length} modules, ${breaches.length} breaches`);
process.exitCode = breaches.length === 0 ? 0 : 1;

function modulesUnder(folder: string): string[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts")).map((name) => join(folder, name)).sort();
}

/** Asks Deno for the imports, once for all modules: a pattern over source text takes prose and strings for code. */
function readGraph(modules: readonly string[]): ModuleGraph {
  const folder = mkdtempSync(join(tmpdir(), "gpuctl-layers-"));
  try {
    const entry = join(folder, "all.ts");
    writeFileSync(
      entry,
      modules.map((path) => `import "${pathToFileURL(join(root, path)).href}";\n`).join(""),
    );
    const { status, stdout, stderr } = spawnSync(DENO, [
      "info",
      "--json",
      "--config",
      join(root, "deno.json"),
      entry,
    ], {
      cwd: root,
      encoding: "utf8",
      maxBuffer: 2 ** 28,
    });
    if (status !== 0) throw new Error(`Cannot read the module graph: ${stderr}`);
    const { modules: infos }: { modules: readonly ModuleInfo[] } = JSON.parse(stdout);
    const byPath = new Map(infos.map((info) => [pathFromRoot(info.specifier), info]));
    return new Map(modules.map((path) => [path, importsOf(path, byPath.get(path))]));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** @throws {Error} if Deno could not read the module: what is not known was not checked. */
function importsOf(path: string, info: ModuleInfo | undefined): Import[] {
  if (!info || info.error !== undefined) {
    throw new Error(`Cannot read ${path}: ${info?.error ?? "not in the graph"}`);
  }
  return (info.dependencies ?? []).map(({ specifier, code, type }) => {
    const resolved = (code ?? type)?.specifier ?? specifier;
    // A package keeps the name it was imported under: that is how deno.json and the table know it.
    const target = resolved.startsWith("npm:") ? specifier : pathFromRoot(resolved);
    return { target, isTypeOnly: code === undefined };
  });
}

function pathFromRoot(specifier: string): string {
  return specifier.replace(pathToFileURL(join(root, "/")).href, "");
}
