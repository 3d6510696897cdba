/**
 * Options that were not typed: from configuration files and from variables, weakest first, under the command line. A
 * wrong name or value is an error with its place, never ignored.
 */
import type { CommandUnknownOpts, Option } from "@commander-js/extra-typings";
import { errnoOf, GpuctlError, messageOf, stateOf } from "../lib/core/errors.ts";
import { nearest } from "../lib/core/text.ts";
import type { OptionSetting } from "../lib/model/program_description.ts";
import type { World } from "../lib/world/ports.ts";

/** What must be typed by the one who means it, and what only makes sense there. */
const TYPED_ONLY = new Set([
  ...["--yes", "--force", "--evict", "--stop-services", "--nvidia-smi", "--on-alert"],
  ...["--version", "--help", "--config"],
]);

type SettingsWorld = Pick<World, "files" | "variable">;

/** Where one setting stands, for the sentence that refuses it. */
interface Place {
  readonly name: string;
  readonly table: string | undefined;
}

/**
 * Gives a command the settings that files and variables hold for it.
 *
 * @param everyName the names of all commands, which a file's tables are called after
 * @param named the file of `--config`, if one was given
 * @throws {GpuctlError} `usage` for a setting that makes no sense.
 */
export async function applySettings(
  command: CommandUnknownOpts,
  { everyName, named }: { readonly everyName: readonly string[]; readonly named: string | undefined },
  world: SettingsWorld,
): Promise<void> {
  for (const path of configPaths(named, world)) {
    const text = readConfig(path, path === named, world);
    if (text !== undefined) await applyFile(command, path, text, everyName);
  }
  for (const option of settableOptions(command)) {
    const name = variableOf(option);
    const value = name === undefined ? undefined : world.variable(name);
    if (name !== undefined && value !== undefined) {
      apply(command, option, option.isBoolean() ? readSwitch(value, name) : value, name);
    }
  }
}

/** The variable that an option may come from; `undefined` for one that must be typed. */
export function variableOf({ long }: Pick<Option, "long">): string | undefined {
  if (long === undefined || TYPED_ONLY.has(long)) return undefined;
  return `GPUCTL_${long.slice(2).replaceAll("-", "_").toUpperCase()}`;
}

/** Where in a configuration file an option of the command at `path` may stand, if it may. */
export function settingOf(
  option: Pick<Option, "long">,
  path: readonly string[],
): OptionSetting | undefined {
  const key = option.long?.slice(2);
  if (key === undefined || variableOf(option) === undefined) return undefined;
  // Tables are called after commands, and `sim hold` is none of its own there.
  const table = path.length === 1 ? path[0] : undefined;
  const isShared = SHARED.has(key);
  return table === undefined && !isShared ? undefined : { key, table, isShared };
}

function configPaths(named: string | undefined, { variable }: SettingsWorld): string[] {
  const home = variable("XDG_CONFIG_HOME") ??
    (variable("HOME") === undefined ? undefined : `${variable("HOME")}/.config`);
  return [
    "/etc/gpuctl/config.toml",
    ...(home === undefined ? [] : [`${home}/gpuctl/config.toml`]),
    ...(named === undefined ? [] : [named]),
  ];
}

/** A file that nobody named may be missing; one that was named may not. */
function readConfig(path: string, isNamed: boolean, { files }: SettingsWorld): string | undefined {
  try {
    return files.readText(path);
  } catch (error) {
    const isMissing = errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR";
    if (isMissing && !isNamed) return undefined;
    const failure = errnoOf(error) === "EACCES" ? "denied" : "usage";
    throw new GpuctlError(failure, `Cannot read the configuration ${path}: ${stateOf(error)}`, {
      cause: error,
      ...(!isNamed && { hint: "HOME and XDG_CONFIG_HOME say where this user's settings are" }),
    });
  }
}

async function applyFile(
  command: CommandUnknownOpts,
  path: string,
  text: string,
  everyName: readonly string[],
): Promise<void> {
  const { parse, TomlError } = await import("smol-toml");
  let tables: Record<string, unknown>;
  try {
    tables = { ...parse(text) };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const sentence = error.message.split("\n")[0] ?? "";
    throw new GpuctlError("usage", `Cannot read ${path}:${error.line}:${error.column}: ${sentence}`, {
      cause: error,
    });
  }
  for (const [name, value] of Object.entries(tables)) {
    const isTable = typeof value === "object" && value !== null && !Array.isArray(value);
    if (isTable && !everyName.includes(name)) {
      refuse(path, text, { name, table: undefined }, `there is no command "${name}"`, everyName);
    }
    if (isTable && name === command.name()) applyTable(command, { path, text, table: name }, { ...value });
    if (!isTable && SHARED.has(name)) applyEntry(command, { path, text, table: undefined }, name, value);
    if (!isTable && !SHARED.has(name)) {
      refuse(path, text, { name, table: undefined }, `"${name}" is no setting for every command`, [
        ...SHARED,
      ]);
    }
  }
}

/** Settings that may stand above all tables, for every command that has the option. */
const SHARED = new Set(["source", "deadline", "gpu", "audit-log"]);

interface FileTable {
  readonly path: string;
  readonly text: string;
  readonly table: string | undefined;
}

function applyTable(
  command: CommandUnknownOpts,
  file: FileTable,
  entries: Readonly<Record<string, unknown>>,
): void {
  for (const [name, value] of Object.entries(entries)) applyEntry(command, file, name, value);
}

function applyEntry(
  command: CommandUnknownOpts,
  { path, text, table }: FileTable,
  name: string,
  value: unknown,
): void {
  if (TYPED_ONLY.has(`--${name}`)) {
    const where = `${path}:${placeOf(text, { name, table })}`;
    throw new GpuctlError("usage", `Cannot use ${where}: "${name}" counts only on the command line`);
  }
  const options = settableOptions(command);
  const option = options.find(({ long }) => long === `--${name}`);
  if (option === undefined) {
    if (table === undefined) return;
    const names = options.map(({ long }) => (long ?? "").slice(2));
    return refuse(path, text, { name, table }, `gpuctl ${table} has no option "${name}"`, names);
  }
  const where = `${path}:${placeOf(text, { name, table })}`;
  if (option.isBoolean()) {
    if (typeof value !== "boolean") {
      throw new GpuctlError("usage", `Cannot use ${where}: "${name}" must be true or false`);
    }
    return apply(command, option, value, where);
  }
  for (const entry of Array.isArray(value) ? value : [value]) {
    if (typeof entry !== "string" && typeof entry !== "number") {
      throw new GpuctlError("usage", `Cannot use ${where}: "${name}" must be a text`);
    }
    apply(command, option, String(entry), where);
  }
}

function apply(command: CommandUnknownOpts, option: Option, value: string | boolean, where: string): void {
  const key = option.attributeName();
  try {
    const parsed = typeof value === "boolean"
      ? value
      : parseValue(option, value, command.getOptionValue(key));
    command.setOptionValueWithSource(key, parsed, "config");
  } catch (error) {
    throw new GpuctlError("usage", `Cannot use ${where}: ${messageOf(error)}`, { cause: error });
  }
}

function parseValue(option: Option, text: string, before: unknown): unknown {
  return option.parseArg ? option.parseArg(text, before) : text;
}

function readSwitch(text: string, name: string): boolean {
  if (["1", "true", "yes", "on"].includes(text)) return true;
  if (["0", "false", "no", "off", ""].includes(text)) return false;
  throw new GpuctlError("usage", `Cannot use ${name}: "${text}" is neither true nor false`);
}

function settableOptions(command: CommandUnknownOpts): Option[] {
  return command.options.filter((option) => variableOf(option) !== undefined);
}

function refuse(path: string, text: string, place: Place, why: string, names: readonly string[]): never {
  const near = nearest(place.name, names);
  throw new GpuctlError("usage", `Cannot use ${path}:${placeOf(text, place)}: ${why}`, {
    hint: near === undefined ? `there are: ${names.join(", ")}` : `did you mean "${near}"?`,
  });
}

/** Line and column of a key, for a text that has been parsed already: the parser itself does not keep them. */
function placeOf(text: string, { name, table }: Place): string {
  let current: string | undefined;
  for (const [index, line] of text.split("\n").entries()) {
    const header = /^\s*\[\s*["']?([^\]"']+?)["']?\s*\]/.exec(line);
    if (header) current = header[1];
    const key = header ? header[1] : /^\s*["']?([\w-]+)["']?\s*=/.exec(line)?.[1];
    const isHere = header ? table === undefined : current === table;
    if (key === name && isHere) return `${index + 1}:${line.indexOf(name) + 1}`;
  }
  return "1:1";
}
