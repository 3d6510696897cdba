import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "./temporary.ts";

const SOURCES = fileURLToPath(new URL("../fixtures/proc/", import.meta.url));

/** A compiled program in a folder of its own. */
export interface CProgram extends Disposable {
  readonly path: string;
}

/** Compiles `tests/fixtures/proc/NAME.c`. @throws {Error} with the compiler's words */
export function compileCProgram(name: string): CProgram {
  return compile(name, ["-pthread"]);
}

/** Compiles `tests/fixtures/proc/NAME.c` to a library for LD_PRELOAD. @throws {Error} with the compiler's words */
export function compileCLibrary(name: string): CProgram {
  return compile(name, ["-fPIC", "-shared"]);
}

function compile(name: string, flags: readonly string[]): CProgram {
  const folder = temporaryFolder();
  const path = join(folder.path, name);
  const { status, stderr, error } = spawnSync(
    "cc",
    ["-O1", "-Wall", "-Werror", ...flags, "-o", path, join(SOURCES, `${name}.c`)],
    { encoding: "utf8" },
  );
  if (status !== 0) throw new Error(`Cannot compile ${name}.c: ${error?.message ?? stderr}`);
  return { path, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}
