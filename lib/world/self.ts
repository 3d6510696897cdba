/** How this program was started, and how it starts itself again. */
import process from "node:process";
import { fileURLToPath } from "node:url";

/** Where Bun mounts the modules of a compiled program. */
const EMBEDDED = "/$bunfs/";

/** The words that start this program again: the binary alone, or a runtime with the entry module. */
export function selfCommand(): readonly string[] {
  const entry = fileURLToPath(new URL("../../mod.ts", import.meta.url));
  if (import.meta.url.includes(EMBEDDED) || !import.meta.url.endsWith(".ts")) return [process.execPath];
  return "deno" in process.versions
    ? [process.execPath, "run", "--allow-all", entry]
    : [process.execPath, entry];
}
