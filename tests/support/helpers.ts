/** How tests start and open helpers: real ones from helper_program.ts, or any command in their place. */
import process from "node:process";
import { fileURLToPath } from "node:url";
import { milliseconds } from "../../lib/core/units.ts";
import type { HelperOptions } from "../../lib/source/helper/open_helper.ts";
import type { LookOptions } from "../../lib/world/ports.ts";

/** The command that runs a program of this folder under the runtime that runs the test. */
export function supportCommand(name: string): readonly [string, ...string[]] {
  const program = fileURLToPath(new URL(name, import.meta.url));
  const config = fileURLToPath(new URL("../../deno.json", import.meta.url));
  return "Deno" in globalThis
    ? [process.execPath, "run", "--quiet", "--no-check", "--allow-all", "--config", config, program]
    : [process.execPath, program];
}

/** What a helper of the stand-in library is opened with; its records go nowhere. */
export function helperOptions(differences: Partial<HelperOptions> = {}): HelperOptions {
  return {
    command: supportCommand("helper_program.ts"),
    request: { source: "nvml" },
    parentPid: process.pid,
    clock: { now: () => "2026-11-30T09:00:00.000Z" },
    processes: { findProcess: () => undefined },
    records: { directory: "/nonexistent/gpuctl", uid: 0 },
    ...differences,
  };
}

/** A look that may take so long. */
export function within(span: number): LookOptions {
  return { within: milliseconds(span), withUtilization: false };
}
