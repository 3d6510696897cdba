import { cpSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { type Ended, runProgram } from "./running_program.ts";
import { temporaryFolder } from "./temporary.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** A small repository of its own with our scripts in it, to try them on what must not stand in the real one. */
export interface StandIn extends Disposable {
  readonly path: string;
  write(name: string, content: string): string;
  /** Runs a script of ours there. */
  run(script: string, args?: readonly string[]): Promise<Ended>;
}

/** Makes a repository with our scripts, our packages and these files. */
export function standIn(files: Readonly<Record<string, string>>): StandIn {
  const folder = temporaryFolder();
  const { path } = folder;
  cpSync(join(ROOT, "scripts"), join(path, "scripts"), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(path, "node_modules"));
  // With "manual" and a package.json the packages are taken as they lie there, and no registry is asked.
  folder.write("deno.json", JSON.stringify({ nodeModulesDir: "manual", lock: false }));
  folder.write("package.json", JSON.stringify({ dependencies: { saxes: "6.0.0" } }));
  for (const [name, content] of Object.entries(files)) folder.write(name, content);
  return {
    path,
    write: folder.write,
    run(script, args = []) {
      const command = [
        process.execPath,
        "run",
        "--quiet",
        "--allow-all",
        join(path, "scripts", script),
        ...args,
      ] as const;
      return runProgram(command, { cwd: path, env: { NO_COLOR: "1" }, within: 60_000 });
    },
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}
