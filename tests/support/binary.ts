/** The program under test: the compiled binary, or the sources under Deno with GPUCTL_TEST_RUNTIME=deno. */
import { homedir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import {
  type Ended,
  type RunningProgram,
  runProgram,
  type StartOptions,
  startProgram,
} from "./running_program.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** The command that starts gpuctl; its own arguments come after it. */
export function gpuctlCommand(): readonly [string, ...string[]] {
  if (!isUnderDeno()) return [join(ROOT, "dist/gpuctl")];
  const config = join(ROOT, "deno.json");
  return [
    process.execPath,
    "run",
    "--quiet",
    "--no-check",
    "--allow-all",
    "--config",
    config,
    join(ROOT, "mod.ts"),
  ];
}

/** Runs gpuctl to its end. */
export function runGpuctl(
  args: readonly string[],
  options: StartOptions & { readonly within?: number } = {},
): Promise<Ended> {
  return runProgram([...gpuctlCommand(), ...args], withRuntime(options));
}

/** Starts gpuctl and leaves it running: `await using watch = startGpuctl(["watch"]);`. */
export function startGpuctl(args: readonly string[], options: StartOptions = {}): RunningProgram {
  return startProgram([...gpuctlCommand(), ...args], withRuntime(options));
}

/** What the program's environment needs beside that of the test: Deno keeps its packages below the home. */
export function withRuntime<T extends StartOptions>(options: T): T {
  if (!isUnderDeno()) return options;
  const cache = process.env["DENO_DIR"] ??
    join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "deno");
  return { ...options, env: { DENO_DIR: cache, DENO_NO_UPDATE_CHECK: "1", ...options.env } };
}

function isUnderDeno(): boolean {
  return process.env["GPUCTL_TEST_RUNTIME"] === "deno";
}
