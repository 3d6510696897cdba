/** What `gpuctl watch` writes, as end-to-end tests look at it. */
import { parseDocumentLines } from "./documents.ts";
import type { RunningProgram } from "./running_program.ts";
import type { SimulatedServer } from "./sim.ts";
import { temporaryFolder } from "./temporary.ts";

/** The keys of a line that these tests look at. */
export interface WatchLine {
  readonly event: "sample" | "alert" | "cleared";
  readonly kind?: string;
  readonly message?: string;
  readonly evidence?: readonly string[];
  readonly gpu?: { readonly index: number } | null;
  readonly process?: { readonly pid: number; readonly command: string | null } | null;
  readonly gpus?: readonly { readonly index: number; readonly memoryUsedBytes: number | null }[] | null;
  readonly alerts?: readonly string[];
  readonly lastedMs?: number;
}

/** A quick watch with no rule that has to wait. */
export const QUICK_WATCH = [
  "watch",
  "--json",
  "--interval",
  "50ms",
  "--look-every",
  "200ms",
  "--no-xid",
] as const;

/** Every line that stands whole in what a watch wrote. @throws {AssertionError} if one is not as its schema says */
export function linesOf(text: string): WatchLine[] {
  const end = text.lastIndexOf("\n") + 1;
  return end === 0 ? [] : parseDocumentLines<WatchLine>(text.slice(0, end));
}

/** Waits until a watch tells of this, and gives the line. */
export async function untilTold(
  watch: RunningProgram,
  event: "alert" | "cleared",
  kind: string,
): Promise<WatchLine> {
  const [line = ""] = await watch.untilOutput(
    new RegExp(`^\\{[^\\n]*"event":"${event}"[^\\n]*"kind":"${kind}"[^\\n]*\\}$`, "m"),
  );
  const [told] = linesOf(`${line}\n`);
  if (told === undefined) throw new Error(`Cannot read ${line}`);
  return told;
}

/** Gives a server other faults while somebody watches. */
export async function changeFaults({ folder, run }: SimulatedServer, faults: string): Promise<void> {
  using files = temporaryFolder();
  const { status, stderr } = await run([
    "sim",
    "init",
    folder,
    "--faults",
    files.write("faults.toml", faults),
  ]);
  if (status !== 0) throw new Error(`Cannot change the faults: ${stderr}`);
}
