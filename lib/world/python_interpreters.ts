/** Python interpreters and their directories of packages, found by looking at files. None is ever started. */
import { realpath, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { bytes } from "../core/units.ts";
import { readRegularFile } from "../native/regular_file.ts";
import { listSites, type PythonPrefix } from "./python_sites.ts";

/** What says where the interpreters of a person are. */
export interface PythonPlaces {
  readonly variable: (name: string) => string | undefined;
  /** The current directory. */
  readonly directory: string;
  /** The one interpreter that was named, or the folder of its environment. */
  readonly named?: string | undefined;
}

/** An interpreter before its packages were looked at. */
export interface FoundInterpreter {
  readonly path: string;
  readonly origin: string;
  /** Empty where nothing tells where its packages are. */
  readonly sites: readonly string[];
}

const CONFIG_BYTES = bytes(64 * 1024);
const MOST_INTERPRETERS = 8;

/** Finds the interpreter that was named, or those that a shell here would start. */
export async function findInterpreters(places: PythonPlaces): Promise<readonly FoundInterpreter[]> {
  const found = new Map<string, FoundInterpreter>();
  for (const { path, origin } of await listCandidates(places)) {
    if (!(await exists(path)) && places.named === undefined) continue;
    const executable = await findShimTarget(path, places) ?? path;
    const sites = await listSites(await findPrefix(executable), places);
    const key = sites.length === 0 ? executable : sites.join("\n");
    if (!found.has(key) && found.size < MOST_INTERPRETERS) {
      found.set(key, { path: executable, origin, sites });
    }
  }
  return [...found.values()];
}

type Candidate = Pick<FoundInterpreter, "path" | "origin">;

async function listCandidates({ variable, directory, named }: PythonPlaces): Promise<readonly Candidate[]> {
  if (named !== undefined) {
    const path = resolve(directory, named);
    const inside = join(path, "bin/python");
    return [{ path: await isFolder(path) ? inside : path, origin: "--python" }];
  }
  const environments = [
    ["VIRTUAL_ENV", variable("VIRTUAL_ENV")],
    ["CONDA_PREFIX", variable("CONDA_PREFIX")],
    [".venv here", join(directory, ".venv")],
    ["venv here", join(directory, "venv")],
  ].flatMap(([origin = "", folder]) =>
    folder === undefined || !isAbsolute(folder) ? [] : [{ origin, folder }]
  );
  const searched = (variable("PATH") ?? "").split(":").filter(isAbsolute);
  const onPath = await Promise.all(["python3", "python"].map(async (name) => {
    for (const folder of searched) {
      const path = join(folder, name);
      if (await exists(path)) return [{ path, origin: `${name} on the PATH` }];
    }
    return [];
  }));
  return [
    ...environments.map(({ origin, folder }) => ({ path: join(folder, "bin/python"), origin })),
    ...onPath.flat(),
  ];
}

/** The prefix that an interpreter takes its packages from: that of its virtual environment, or of its installation. */
async function findPrefix(executable: string): Promise<PythonPrefix> {
  // Python itself looks for it before it follows links (PEP 405).
  for (const folder of [dirname(executable), dirname(dirname(executable))]) {
    const config = await findText(join(folder, "pyvenv.cfg"));
    if (config !== undefined) return parseVenvConfig(config, folder);
  }
  const real = await realPathOf(executable);
  return {
    path: dirname(dirname(real)),
    version: /^python(\d\.\d{1,2})/.exec(basename(real))?.[1],
    base: undefined,
    isVenv: false,
  };
}

/** Parses pyvenv.cfg: `key = value` lines (PEP 405). */
function parseVenvConfig(text: string, folder: string): PythonPrefix {
  const entries = new Map(
    text.split("\n").map((line): [string, string] => {
      const [key = "", ...rest] = line.split("=");
      return [key.trim().toLowerCase(), rest.join("=").trim()];
    }),
  );
  const version = /^(\d\.\d{1,2})(?:\.|$)/.exec(entries.get("version") ?? entries.get("version_info") ?? "")
    ?.[1];
  const home = entries.get("home");
  const hasSystem = entries.get("include-system-site-packages")?.toLowerCase() === "true";
  return {
    path: folder,
    version,
    base: hasSystem && home !== undefined && isAbsolute(home) ? dirname(home) : undefined,
    isVenv: true,
  };
}

/** pyenv puts scripts in front of its interpreters, and a file or a variable says which one is meant. */
async function findShimTarget(
  path: string,
  { variable, directory }: PythonPlaces,
): Promise<string | undefined> {
  const root = dirname(dirname(path));
  if (basename(dirname(path)) !== "shims" || !(await isFolder(join(root, "versions")))) return undefined;
  const chosen = variable("PYENV_VERSION") ?? await findText(join(directory, ".python-version")) ??
    await findText(join(root, "version")) ?? "";
  const [first = ""] = chosen.trim().split(/[\s:]+/);
  if (!/^[A-Za-z0-9][\w.+-]{0,80}$/.test(first)) return undefined;
  const target = join(root, "versions", first, "bin", basename(path));
  return await exists(target) ? target : undefined;
}

async function findText(path: string): Promise<string | undefined> {
  try {
    return await readRegularFile(path, CONFIG_BYTES);
  } catch {
    return undefined; // What cannot be read says nothing: another sign may.
  }
}

async function realPathOf(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    return path; // Whoever may not follow it finds no packages there, and that is said.
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch {
    return false; // Not there, or not for us: either way a shell here would go on to the next one.
  }
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false; // As above.
  }
}
