/** The way in: finds the command, runs it, and turns its ending or its error into an exit status. */
import { EXIT, GpuctlError } from "./lib/core/errors.ts";
import { VERSION } from "./lib/core/version.ts";
import type { World } from "./lib/world/ports.ts";

/** Runs one command line in a world and gives its exit status. Never throws. */
export async function main(argv: readonly string[], world: World): Promise<number> {
  try {
    if (argv.length === 1 && argv[0] === "--version") {
      world.terminal.out(`gpuctl ${VERSION}\n`);
      return EXIT.ok;
    }
    const { runProgram } = await import("./commands/program.ts");
    const ending = await runProgram(argv, world);
    return typeof ending === "string" ? EXIT[ending] : ending.status;
  } catch (error) {
    if (!(error instanceof GpuctlError)) {
      world.terminal.err(`gpuctl: bug: ${error instanceof Error ? error.stack : String(error)}\n`);
      return EXIT.bug;
    }
    world.terminal.err(
      `gpuctl: ${error.message}\n${error.hint === undefined ? "" : `  hint: ${error.hint}\n`}`,
    );
    return error.status ?? EXIT[error.failure];
  }
}

if (import.meta.main) {
  const { exit, ownArguments } = await import("./lib/world/start.ts");
  const argv = ownArguments();
  if (argv[0] === "helper") {
    const { runHelper } = await import("./lib/world/helper.ts");
    exit(await runHelper(argv.slice(1)));
  }
  // The driver needs the most time, so it is asked before the rest of this program is even loaded.
  const { startEarly } = await import("./lib/world/early_helper.ts");
  using early = startEarly(argv);
  const { openWorld } = await import("./lib/world/real.ts");
  exit(await main(argv, await openWorld(early)));
}
