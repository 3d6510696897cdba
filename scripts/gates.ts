import type { Job } from "./jobs.ts";
import { runToEnd } from "./run_command.ts";
import { DENO } from "./toolchain.ts";

/** Builds the binary that the end-to-end tests and the README check run. */
export const BUILD = denoJob("build", ["run", "--allow-all", "scripts/build.ts"]);

/** What must hold beside the tests. Only a failure is counted: what passed is the number of tests. */
export const GATES: readonly Job[] = [
  BUILD,
  denoJob("types", ["check", "--quiet", "."]),
  denoJob("format", ["fmt", "--check"]),
  denoJob("lint", ["lint", "--quiet"]),
  denoJob("layers", ["run", "--allow-all", "scripts/check_layers.ts"]),
  { ...denoJob("readme", ["run", "--allow-all", "scripts/check_readme.ts"]), needs: BUILD.name },
];

function denoJob(name: string, args: readonly string[]): Job {
  return {
    name,
    async run() {
      const { succeeded, output, ending } = await runToEnd({ command: [DENO, ...args] });
      return {
        passed: 0,
        failed: succeeded ? 0 : 1,
        skipped: [],
        notes: succeeded ? [] : [`deno ${args.join(" ")}: ${ending}`],
        output,
      };
    },
  };
}
