/** Fails if README.md says what the program does not: an exit status, a command, a flag, a task. `check_readme.ts [README [PROGRAM]]` */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { EXIT } from "../lib/core/errors.ts";
import { binaryPath } from "./build.ts";
import { findMistakes } from "./readme_rules.ts";
import { readProgramHelp } from "./program_help.ts";
import { say, warn } from "./say.ts";
import { ownProcessor, ROOT } from "./toolchain.ts";

const [readme = join(ROOT, "README.md"), program = join(ROOT, binaryPath(ownProcessor()))] = process.argv
  .slice(2);
const mistakes = existsSync(readme)
  ? findMistakes(readFileSync(readme, "utf8"), {
    exitStatuses: EXIT,
    help: readProgramHelp(askHelp),
    tasks: taskNames(),
  })
  : ["README.md is missing"];
for (const mistake of mistakes) warn(mistake);
say(`README.md: ${mistakes.length} mistakes`);
process.exitCode = mistakes.length === 0 ? 0 : 1;

function askHelp(path: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(program, [...path, "--help"], { encoding: "utf8" });
  if (status !== 0) {
    throw new Error(
      `Cannot read the help of gpuctl ${path.join(" ")}: ${error?.message ?? `${stdout}${stderr}`}`,
    );
  }
  return stdout;
}

function taskNames(): string[] {
  const { tasks }: { tasks: Readonly<Record<string, unknown>> } = JSON.parse(
    readFileSync(join(ROOT, "deno.json"), "utf8"),
  );
  return Object.keys(tasks);
}
