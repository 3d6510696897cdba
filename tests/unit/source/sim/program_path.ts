import process from "node:process";
import { fileURLToPath } from "node:url";

const PROGRAM = fileURLToPath(new URL("program.ts", import.meta.url));

/** How the simulator starts under the runtime that runs the test; `sim` and its arguments follow. */
export const SIM_PROGRAM: readonly [string, ...string[]] = "Deno" in globalThis
  ? [process.execPath, "run", "--quiet", "--no-check", "--allow-all", PROGRAM]
  : [process.execPath, PROGRAM];
