/**
 * Options that were not typed: from configuration files and from variables, weakest first, under the command line. A
 * wrong name or value is an error with its place, never ignored.
 */
import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { errnoOf, GpuctlError, messageOf } from "../lib/core/errors.ts";
import { cannotRead } from "../lib/core/file_errors.ts";
import type { World } from "../lib/world/ports.ts";
import { settableOptions, variableOf } from "./setting_names.ts";
import { applySetting, complaintOf, isSwitch } from "./setting_values.ts";

/** Settings for everybody on a machine. */
export const MACHINE_CONFIG = "/etc/gpuctl/config.toml";

/** A file that nobody named and that could not be read, though it is there. */
export interface UnreadConfig {
  readonly path: string;
  readonly failure: GpuctlError;
}

type SettingsWorld = Pick<World, "files" | "variable">;

/**
 * Gives a command the settings that files and variables hold for it. Returns the files of which it is
 * not known what they say.
 *
 * @param everyName the names of all commands, which a file's tables are called after
 * @param named the file of `--config`, if one was given
 * @throws {GpuctlError} `usage` for a setting that makes no sense.
 */
export async function applySettings(
  command: CommandUnknownOpts,
  { everyName, named }: { readonly everyName: readonly string[]; readonly named: string | undefined },
  world: SettingsWorld,
): Promise<readonly UnreadConfig[]> {
  const unread: UnreadConfig[] = [];
  for (const path of configPaths(named, world)) {
    const text = readConfig(path, world.files);
    if (typeof text === "string") {
      const { applyConfig } = await import("./config_file.ts");
      await applyConfig(command, { path, text }, everyName);
    } else if (path === named) throw text.failure;
    else if (!text.isMissing) unread.push({ path, failure: text.failure });
  }
  for (const option of settableOptions(command)) {
    const name = variableOf(option);
    const value = name === undefined ? undefined : world.variable(name);
    if (name === undefined || value === undefined) continue;
    try {
      applySetting(command, option, isSwitch(option) ? readSwitch(value) : value);
    } catch (error) {
      throw new GpuctlError("usage", `Cannot use ${name}: ${complaintOf(messageOf(error), value)}`, {
        cause: error,
      });
    }
  }
  return unread;
}

function configPaths(named: string | undefined, { variable }: SettingsWorld): string[] {
  const home = variable("XDG_CONFIG_HOME") ??
    (variable("HOME") === undefined ? undefined : `${variable("HOME")}/.config`);
  return [
    MACHINE_CONFIG,
    ...(home === undefined ? [] : [`${home}/gpuctl/config.toml`]),
    ...(named === undefined ? [] : [named]),
  ];
}

interface Unreadable {
  readonly failure: GpuctlError;
  readonly isMissing: boolean;
}

function readConfig(path: string, files: SettingsWorld["files"]): string | Unreadable {
  try {
    return files.readText(path);
  } catch (error) {
    return {
      failure: cannotRead(path, error, { as: "the configuration" }),
      isMissing: errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR",
    };
  }
}

function readSwitch(text: string): boolean {
  if (["1", "true", "yes", "on"].includes(text)) return true;
  if (["0", "false", "no", "off", ""].includes(text)) return false;
  throw new SyntaxError(`"${text}" is neither true nor false`);
}
