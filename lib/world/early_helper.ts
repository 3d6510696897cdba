/**
 * Starts the helper for the look that a command line is going to need, before the line is read properly. A wrong guess
 * costs one process and decides nothing: whoever looks says which driver is meant, and takes this helper only if it is
 * that one's.
 */
import { resolve } from "node:path";
import process from "node:process";
import { parseSourceChoice, type SourceChoice } from "../model/source_choice.ts";
import { findStat } from "../proc/stat.ts";
import type { HelperRequest } from "../source/helper/frames.ts";
import { type Helper, openHelper } from "../source/helper/open_helper.ts";
import { stuckRecordsOf } from "../source/helper/stuck.ts";
import { realClock } from "./clock.ts";
import { selfCommand } from "./self.ts";

/** A helper that may be there already. */
export interface EarlyHelper extends Disposable {
  /** The helper, once, if it was started for this request. */
  take(request: HelperRequest): Helper | undefined;
}

/** Commands whose first act is a look at the driver. */
const LOOKING = new Set([
  "snapshot",
  "clean-zombies",
  "diff",
  "diff-before-after",
  "verify-isolation",
  "reset-gpu",
  "watch",
]);

/** Starts a helper if the command line is one that begins with a look at a driver. */
export function startEarly(argv: readonly string[]): EarlyHelper {
  const request = looksAtDriver(argv) ? requestOf(argv) : undefined;
  let helper = request && openHelper({
    command: selfCommand(),
    request,
    parentPid: process.pid,
    clock: realClock,
    processes: { findProcess: (pid) => findStat(`/proc/${pid}`) },
    records: stuckRecordsOf(process.getuid?.() ?? 0, process.env["XDG_RUNTIME_DIR"]),
  });
  return {
    take(wanted) {
      if (JSON.stringify(wanted) !== JSON.stringify(request)) return undefined;
      const taken = helper;
      helper = undefined;
      return taken;
    },
    [Symbol.dispose]: () => helper?.leave(),
  };
}

function looksAtDriver(argv: readonly string[]): boolean {
  if (!LOOKING.has(argv[0] ?? "") || argv.includes("--help")) return false;
  // Reading a script needs no GPU, unless a job or a process is to be judged as well.
  return !argv.includes("--lint") || argv.includes("--") || argv.includes("--pid");
}

function requestOf(argv: readonly string[]): HelperRequest | undefined {
  const own = argv.includes("--") ? argv.slice(0, argv.indexOf("--")) : argv;
  const at = own.findLastIndex((word) => word === "--source" || word.startsWith("--source="));
  const word = own[at];
  const text = word === "--source" ? own[at + 1] : word?.slice("--source=".length);
  const source = readSource(text ?? process.env["GPUCTL_SOURCE"] ?? "nvml");
  if (source?.kind === "sim") return { source: "sim", directory: resolve(source.directory) };
  if (source?.kind !== "nvml") return undefined;
  return { source: "nvml", ...source.library !== undefined && { library: source.library } };
}

function readSource(text: string): SourceChoice | undefined {
  try {
    return parseSourceChoice(text);
  } catch {
    return undefined; // The command says what is wrong with it.
  }
}
