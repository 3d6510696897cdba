/**
 * Builds the shipped binary: `dist/gpuctl`, and with `--arm64` also `dist/gpuctl-arm64`.
 * Does nothing when the sources are those of the last build, so that other tasks may always call it first.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { argv, exit } from "node:process";
import { say, warn } from "./say.ts";
import { ownBun, ownProcessor, type Processor, ROOT, TARGETS } from "./toolchain.ts";

/** All that can change the binary. A file that no module imports costs a needless build, never a stale one. */
const INPUTS = [
  "deno.json",
  "deno.lock",
  "mod.ts",
  "lib",
  "commands",
  "deploy",
  "scripts/build.ts",
  "scripts/toolchain.ts",
];

/**
 * `--bytecode` alone means CommonJS, which has no top-level await. The two `--no-compile-autoload` flags keep a `.env` or
 * `bunfig.toml` in the current directory from running code in a program that is often started as root.
 */
const FLAGS = [
  "--compile",
  "--minify",
  "--bytecode",
  "--splitting",
  "--format=esm",
  "--no-compile-autoload-dotenv",
  "--no-compile-autoload-bunfig",
];

/** Where the program under `name` for a processor is built; the plain name is this machine's. */
export function binaryPath(processor: Processor): string {
  return join("dist", processor === ownProcessor() ? "gpuctl" : `gpuctl-${processor}`);
}

/**
 * Compiles `entry` into one self-contained program, exactly as gpuctl is. Equal sources give equal bytes: both paths
 * are taken from the root, and the program is written under its own name, which is part of it.
 *
 * @throws {Error} with the compiler's words
 */
export function compile(entry: string, outfile: string, processor: Processor): void {
  const { bun, target } = TARGETS[processor];
  const cross = processor === ownProcessor()
    ? []
    : [`--target=${target}`, `--compile-executable-path=${bun}`];
  const { status, error, stdout, stderr } = spawnSync(
    join(ROOT, ownBun()),
    ["build", ...FLAGS, ...cross, `--outfile=${outfile}`, entry],
    { cwd: ROOT, encoding: "utf8" },
  );
  if (error) throw new Error(`Cannot run the compiler: ${error.message}`, { cause: error });
  if (status !== 0) throw new Error(`Cannot compile ${entry}:\n${stdout}${stderr}`);
}

/** Builds gpuctl for a processor unless the last build had the same sources. Says whether there was anything to do. */
export function buildIfChanged(processor: Processor): "built" | "up to date" {
  const path = join(ROOT, binaryPath(processor));
  const stampPath = `${path}.stamp`;
  const inputs = hashInputs();
  const last = readIfThere(stampPath);
  if (last !== undefined && last === stampOf(path, inputs)) return "up to date";

  mkdirSync(dirname(path), { recursive: true });
  const folder = mkdtempSync(join(dirname(path), ".build-"));
  try {
    const fresh = join(folder, basename(path));
    compile("mod.ts", fresh, processor);
    const stamp = stampOf(fresh, inputs);
    // A rename leaves the old program whole for those who run it just now.
    renameSync(fresh, path);
    writeFileSync(stampPath, stamp ?? "");
  } finally {
    rmSync(folder, { recursive: true });
  }
  return "built";
}

/** Names these sources and this very file: of two builds that overlap, only the one whose program stayed is believed. */
function stampOf(path: string, inputs: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found && `${inputs} ${found.ino} ${found.size} ${found.mtimeMs}\n`;
}

function hashInputs(): string {
  const hash = createHash("sha256");
  for (const path of INPUTS.flatMap(filesUnder)) {
    const content = readFileSync(join(ROOT, path));
    hash.update(`${path}\0${content.length}\0`).update(content);
  }
  return hash.digest("hex");
}

function filesUnder(path: string): string[] {
  const found = statSync(join(ROOT, path), { throwIfNoEntry: false });
  if (!found?.isDirectory()) return found ? [path] : [];
  return readdirSync(join(ROOT, path), { recursive: true, encoding: "utf8" })
    .map((name) => join(path, name)).filter((name) => statSync(join(ROOT, name)).isFile()).sort();
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined; // Missing or unreadable, it proves nothing: the answer is to build.
  }
}

if (import.meta.main) {
  const unknown = argv.slice(2).filter((word) => word !== "--arm64");
  if (unknown.length > 0) {
    warn(`build: unknown argument ${unknown.join(" ")}; known: --arm64`);
    exit(2);
  }
  const processors = new Set([ownProcessor(), ...argv.includes("--arm64") ? ["arm64" as const] : []]);
  for (const processor of processors) {
    const started = performance.now();
    const outcome = buildIfChanged(processor);
    say(`${binaryPath(processor)}: ${outcome} in ${((performance.now() - started) / 1000).toFixed(1)} s`);
  }
}
