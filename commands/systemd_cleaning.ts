/** What the options of a regular cleaning mean for the units that carry it. */
import { dirname, normalize } from "node:path";
import { CommanderError } from "@commander-js/extra-typings";
import { GpuctlError } from "../lib/core/errors.ts";
import { type Milliseconds, milliseconds } from "../lib/core/units.ts";
import type { LiveSource } from "../lib/model/source_choice.ts";
import type { CleaningUnits } from "../lib/render/systemd_units.ts";
import { cleanZombiesOptions } from "./clean_zombies.ts";
import { liveSource } from "./options.ts";

/** Longer than by hand: nobody is there to say that a young process is still wanted. */
const MIN_AGE = ["--min-age", "5m"];
/** Folders of which a unit is shown an empty one (ProtectHome=, PrivateTmp=). */
const HIDDEN = ["/home/", "/root/", "/run/user/", "/tmp/", "/var/tmp/"];
/** Folders that the unit is given in any case. */
const OWN_FOLDERS = ["/run/gpuctl", "/var/log/gpuctl"];

export type Cleaning = Omit<CleaningUnits, "every">;

/**
 * Reads options of `gpuctl clean-zombies` that a unit is to run with.
 *
 * @throws {GpuctlError} `usage` for a mistake that would else be found when the timer fires, and nobody looks.
 */
export function readCleaning(program: string, words: readonly string[]): Cleaning {
  const command = cleanZombiesOptions().option("--config <file>")
    .exitOverride().configureOutput({ writeOut() {}, writeErr() {} });
  try {
    command.parse([...words], { from: "user" });
  } catch (error) {
    throw error instanceof CommanderError ? misuse(error) : error;
  }
  const options = command.opts();
  if (options.json) {
    throw new GpuctlError("usage", "Cannot clean regularly with --json: the journal has a line for each act");
  }
  if (options.output !== undefined) {
    throw new GpuctlError("usage", "Cannot clean regularly with --output: the journal has what was done");
  }
  const source = liveSource(options.source, "clean regularly");
  const isAgeGiven = command.getOptionValueSource("minAge") !== "default";
  const library = source.kind === "nvml" && source.library !== undefined ? [source.library] : [];
  const config = options.config === undefined ? [] : [absolute("--config", options.config)];
  return {
    program: absolute("--program", program),
    words: [...options.yes ? [] : ["--yes"], ...isAgeGiven ? [] : MIN_AGE, ...words],
    limit: longestRun(options),
    needsDriver: source.kind !== "sim",
    writable: writtenFolders(source, options.auditLog),
    readable: [program, ...library, ...config].filter((path) =>
      HIDDEN.some((folder) => path.startsWith(folder))
    ),
  };
}

interface Spans {
  readonly confirm: Milliseconds;
  readonly grace: Milliseconds;
  readonly settle: Milliseconds;
  readonly deadline: Milliseconds;
}

/** Twice what a run with stubborn processes three deep and a driver that answers late takes, in whole minutes. */
function longestRun({ confirm, grace, settle, deadline }: Spans): Milliseconds {
  const looks = 4 * (deadline + 5000);
  const ends = 3 * (grace + 10_000);
  return milliseconds(Math.ceil(2 * (confirm + looks + ends + settle) / 60_000) * 60_000);
}

/** A simulated server keeps its lock and its record in its own folder. */
function writtenFolders(source: LiveSource, auditLog: string | undefined): string[] {
  const server = source.kind === "sim" ? [absolute("--source", source.directory)] : [];
  const log = auditLog === undefined ? [] : [dirname(absolute("--audit-log", auditLog))];
  return [...new Set([...server, ...log])].filter((folder) => !OWN_FOLDERS.includes(folder));
}

/** The path as systemd takes one: it does not start in anybody's current folder, and its lists have no escapes. */
function absolute(option: string, path: string): string {
  if (path.startsWith("/") && !/\p{Cc}/u.test(path)) return normalize(path);
  throw new GpuctlError(
    "usage",
    `Cannot use ${option} ${
      JSON.stringify(path)
    } in a unit: it must be an absolute path without control characters`,
  );
}

function misuse({ code, message }: CommanderError): GpuctlError {
  const [sentence = "", near] = message.replace(/^error: /, "").split("\n");
  const reason = code === "commander.helpDisplayed" ? "--help cleans nothing" : sentence;
  return new GpuctlError("usage", `Cannot clean regularly with these options: ${reason}`, {
    hint: near?.replace(/^\((.*)\)$/, "$1") ?? "gpuctl clean-zombies --help lists the options",
  });
}
