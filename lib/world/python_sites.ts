/** Directories in which an interpreter looks for packages, in its own order (site.py). */
import { isAbsolute, join } from "node:path";
import { findNames } from "./folder_names.ts";

/** Where an interpreter is installed. */
export interface PythonPrefix {
  readonly path: string;
  /** `3.11`, where the name of the program or its environment says so. */
  readonly version: string | undefined;
  /** The installation whose packages a virtual environment shows as well. */
  readonly base: string | undefined;
  readonly isVenv: boolean;
}

const MOST_SITES = 16;
const LIBRARY_FOLDER = /^python(3\.\d{1,2})t?$/;

/** Lists those that are there. */
export async function listSites(
  prefix: PythonPrefix,
  { variable }: { readonly variable: (name: string) => string | undefined },
): Promise<readonly string[]> {
  const own = (variable("PYTHONPATH") ?? "").split(":").filter(isAbsolute);
  const isSystem = !prefix.isVenv || prefix.base !== undefined;
  const home = variable("HOME");
  const user = home === undefined || !isSystem ? [] : await sitesBelow(join(home, ".local"), prefix.version);
  const system = prefix.base ?? (prefix.isVenv ? undefined : prefix.path);
  const sites = [
    ...own,
    ...prefix.isVenv ? await sitesBelow(prefix.path, prefix.version) : [],
    ...user,
    ...system === undefined ? [] : await systemSites(system, prefix.version),
  ];
  const present = await Promise.all(
    [...new Set(sites)].slice(0, MOST_SITES).map(async (site) =>
      await findNames(site) === undefined ? [] : [site]
    ),
  );
  return present.flat();
}

/** Debian has folders of its own for what its packages and pip install. */
async function systemSites(prefix: string, version: string | undefined): Promise<string[]> {
  const own = await sitesBelow(prefix, version);
  if (prefix !== "/usr") return own;
  return [...await sitesBelow("/usr/local", version), "/usr/lib/python3/dist-packages", ...own];
}

async function sitesBelow(prefix: string, version: string | undefined): Promise<string[]> {
  const folders = await Promise.all(["lib", "lib64"].map(async (library) => {
    const names = await findNames(join(prefix, library));
    return (names?.ok ? names.value : []).filter((name) => {
      const found = LIBRARY_FOLDER.exec(name)?.[1];
      return found !== undefined && (version === undefined || found === version);
    }).sort().map((name) => join(prefix, library, name));
  }));
  return folders.flat().flatMap((folder) =>
    ["site-packages", "dist-packages"].map((name) => join(folder, name))
  );
}
