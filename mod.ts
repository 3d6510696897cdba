/** The way in: finds the command, runs it, and turns its ending or its error into an exit status. */
import process from "node:process";
import { ClosedPipe, EXIT, GpuctlError } from "./lib/core/errors.ts";
import { printableLines } from "./lib/core/text.ts";
import { VERSION } from "./lib/core/version.ts";
import { STDERR, STDOUT, writeAll } from "./lib/world/output.ts";
import type { World } from "./lib/world/ports.ts";

/** Runs one command line in a world and gives its exit status. Never throws. */
export async function main(argv: readonly string[], world: World): Promise<number> {
  try {
    const { runProgram } = await import("./commands/program.ts");
    const ending = await runProgram(argv, world);
    return typeof ending === "string" ? EXIT[ending] : ending.status;
  } catch (error) {
    return explain(error, world.terminal.err);
  }
}

/** Tells a person what was thrown, and gives the exit status that tells a script. */
function explain(error: unknown, err: (text: string) => void): number {
  if (error instanceof ClosedPipe) return EXIT.ok;
  if (!(error instanceof GpuctlError)) {
    err(
      `gpuctl: bug: ${
        printableLines(error instanceof Error ? error.stack ?? error.message : String(error))
      }\n`,
    );
    return EXIT.bug;
  }
  const hint = error.hint === undefined ? "" : `  hint: ${printableLines(error.hint)}\n`;
  err(`gpuctl: ${printableLines(error.message)}\n${hint}`);
  return error.status ?? EXIT[error.failure];
}

function isVersion(argv: readonly string[]): boolean {
  return argv.length === 1 && argv[0] === "--version";
}

/** Runs a command line in the real world. */
async function start(argv: readonly string[]): Promise<number> {
  try {
    if (isVersion(argv)) {
      writeAll(STDOUT, `gpuctl ${VERSION}\n`);
      return EXIT.ok;
    }
    // A command is to have what we were given, and nothing that we open.
    const given = argv.includes("--")
      ? (await import("./lib/world/given_descriptors.ts")).listGivenDescriptors()
      : [];
    // The driver needs the most time, so it is asked before the rest of this program is even loaded.
    const { startEarly } = await import("./lib/world/early_helper.ts");
    using early = startEarly(argv);
    const { openWorld } = await import("./lib/world/real.ts");
    return await main(argv, await openWorld({ early, given }));
  } catch (error) {
    return explain(error, (text) => writeAll(STDERR, text));
  }
}

if (import.meta.main) {
  const argv = process.argv.slice(2);
  if (argv[0] === "helper") {
    const { runHelper } = await import("./lib/world/helper.ts");
    process.exit(await runHelper(argv.slice(1)));
  }
  process.exit(await start(argv));
}
