import process from "node:process";
import { fileURLToPath } from "node:url";

const RUNTIME: readonly [string, ...string[]] = "Deno" in globalThis
  ? [process.execPath, "run", "--quiet", "--no-check", "--allow-all"]
  : [process.execPath];

/** How the simulator starts under the runtime that runs the test; `sim` and its arguments follow. */
export const SIM_PROGRAM = programOf("program.ts");
/** How a process starts that asks a simulated server's driver; the directory follows. */
export const READER_PROGRAM = programOf("reader.ts");

function programOf(name: string): readonly [string, ...string[]] {
  return [...RUNTIME, fileURLToPath(new URL(name, import.meta.url))];
}
