/** What is installed for each Python interpreter, read from files alone. */
import { join } from "node:path";
import { messageOf } from "../core/errors.ts";
import { absent, known, type Reading } from "../core/reading.ts";
import { bytes } from "../core/units.ts";
import { findFrameworkBuilds, listTellingFiles, type PythonSite } from "../analysis/framework_builds.ts";
import type { FrameworkBuild, PythonInterpreter } from "../model/python_packages.ts";
import { readRegularFile } from "../native/regular_file.ts";
import { isDenied } from "../proc/files.ts";
import { findNames } from "./folder_names.ts";
import { findInterpreters, type PythonPlaces } from "./python_interpreters.ts";

/** The largest of the files has some ten thousand bytes. */
const METADATA_BYTES = bytes(1024 ** 2);

/** Finds the interpreters and reads what their packages say of themselves. */
export async function readPythonInterpreters(places: PythonPlaces): Promise<readonly PythonInterpreter[]> {
  const found = await findInterpreters(places);
  return await Promise.all(found.map(async ({ path, origin, sites }) => ({
    path,
    origin,
    sites,
    builds: await readBuilds(path, sites),
  })));
}

async function readBuilds(
  path: string,
  sites: readonly string[],
): Promise<Reading<readonly FrameworkBuild[]>> {
  if (sites.length === 0) {
    return absent("not-reported", `${path} is no interpreter, or nothing tells where its packages are`);
  }
  const read: PythonSite[] = [];
  for (const site of sites) {
    const names = await findNames(site);
    if (names?.ok === false) return names;
    if (names !== undefined) read.push(await readSite(site, names.value));
  }
  return known(findFrameworkBuilds(read));
}

async function readSite(path: string, names: readonly string[]): Promise<PythonSite> {
  const texts = await Promise.all(
    listTellingFiles(names).map(async (file) => [file, await readMetadata(join(path, file))] as const),
  );
  return { path, names, texts: new Map(texts) };
}

async function readMetadata(path: string): Promise<Reading<string>> {
  try {
    return known(await readRegularFile(path, METADATA_BYTES));
  } catch (error) {
    return absent(isDenied(error) ? "no-permission" : "failed", messageOf(error));
  }
}
