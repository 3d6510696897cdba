/** The program that grows trees, and a namespace for it in which pids come round soon. */
import { spawn, spawnSync } from "node:child_process";
import { copyFileSync } from "node:fs";
import { release } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "../support/temporary.ts";
import { PROGRAMS } from "./plan.ts";

/** Compiles forest.c into a folder, once under each name of a program. @throws {Error} with the compiler's words */
export function compileForest(folder: string): void {
  const source = fileURLToPath(new URL("forest.c", import.meta.url));
  const path = join(folder, "forest");
  const flags = ["-O1", "-Wall", "-Werror", "-pthread"];
  const { status, stderr, error } = spawnSync("cc", [...flags, "-o", path, source], { encoding: "utf8" });
  if (status !== 0) throw new Error(`Cannot compile forest.c: ${error?.message ?? stderr}`);
  for (const name of PROGRAMS) copyFileSync(path, join(folder, name));
}

/** Why no PID namespace can be made here that has a number of pids of its own; `undefined` if one can. */
export function whyNoSmallNamespace(): string | undefined {
  if (process.getuid?.() !== 0) return "it needs root";
  // Before Linux 6.14 kernel.pid_max was one for the whole machine.
  const [major = 0, minor = 0] = release().split(".").map(Number);
  return major > 6 || (major === 6 && minor >= 14) ? undefined : `Linux ${release()} has one pid_max for all`;
}

/** Runs a command in a PID namespace with so many pids; its exit status. All that it started ends with it. */
export async function runInSmallNamespace(pids: number, command: readonly string[]): Promise<number> {
  const why = whyNoSmallNamespace();
  if (why !== undefined) throw new Error(`Cannot limit the pids of a namespace: ${why}`);
  using folder = temporaryFolder();
  compileForest(folder.path);
  const namespace = ["--pid", "--fork", "--mount-proc", "--kill-child", "--"];
  const child = spawn("unshare", [
    ...namespace,
    join(folder.path, "forest"),
    "init",
    String(pids),
    ...command,
  ], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  return await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (status) => resolve(status ?? 1));
  });
}
