/** Settings of a configuration file: TOML, a table for each command, and what several share above them. */
import type { CommandUnknownOpts, Option } from "@commander-js/extra-typings";
import { messageOf } from "../lib/core/errors.ts";
import { nearest } from "../lib/core/text.ts";
import { locateToml, placeIn } from "../lib/model/toml_places.ts";
import { type Mistake, refuseMistakes } from "./mistakes.ts";
import { isTypedOnly, settableOptions, SHARED } from "./setting_names.ts";
import { applySetting, complaintOf, isSwitch } from "./setting_values.ts";

interface ConfigFile {
  readonly path: string;
  readonly text: string;
}

/** A setting of a file, and how to say what is wrong with it. */
interface Entry {
  readonly name: string;
  readonly value: unknown;
  /** `undefined` above all tables. */
  readonly table: string | undefined;
}

type Complaint = Omit<Mistake, "place">;

/**
 * Gives a command what a file has for it.
 *
 * @throws {GpuctlError} `usage` with everything in the file that makes no sense
 */
export async function applyConfig(
  command: CommandUnknownOpts,
  { path, text }: ConfigFile,
  everyName: readonly string[],
): Promise<void> {
  const { parse, TomlError } = await import("smol-toml");
  let tables: Record<string, unknown>;
  try {
    tables = { ...parse(text) };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const message = (error.message.split("\n")[0] ?? "").replace(/^Invalid TOML document: /, "");
    return refuseMistakes(path, [{ place: { line: error.line, column: error.column }, message }]);
  }
  const places = locateToml(text);
  const mistakes = Object.entries(tables).flatMap(([name, value]): Mistake[] => {
    const at = (key: string) => (complaint: Complaint) => ({ ...complaint, place: placeIn(places, key) });
    if (!isTable(value)) return applyShared(command, name, value).map(at(name));
    if (!everyName.includes(name)) {
      return [{ message: `there is no command "${name}"`, ...suggest(name, everyName) }].map(at(name));
    }
    if (name !== command.name()) return [];
    return Object.entries(value).flatMap(([key, each]) =>
      applyEntry(command, { name: key, value: each, table: name }).map(at(`${name}/${key}`))
    );
  });
  refuseMistakes(path, mistakes);
}

function isTable(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

function applyShared(command: CommandUnknownOpts, name: string, value: unknown): readonly Complaint[] {
  if (SHARED.has(name)) return applyEntry(command, { name, value, table: undefined });
  return [{ message: `"${name}" is no setting for every command`, ...suggest(name, [...SHARED]) }];
}

function applyEntry(command: CommandUnknownOpts, { name, value, table }: Entry): readonly Complaint[] {
  if (isTypedOnly(`--${name}`)) return [{ message: `"${name}" counts only on the command line` }];
  const options = settableOptions(command);
  const option = options.find(({ long }) => long === `--${name}`);
  if (option !== undefined) return applyValue(command, option, { name, value });
  if (table === undefined) return [];
  const names = options.map(({ long }) => (long ?? "").slice(2));
  return [{ message: `gpuctl ${table} has no option "${name}"`, ...suggest(name, names) }];
}

function applyValue(
  command: CommandUnknownOpts,
  option: Option,
  { name, value }: Pick<Entry, "name" | "value">,
): readonly Complaint[] {
  if (isSwitch(option)) {
    if (typeof value !== "boolean") return [{ message: `"${name}" must be true or false` }];
    applySetting(command, option, value);
    return [];
  }
  return (Array.isArray(value) ? value : [value]).flatMap((each): readonly Complaint[] => {
    if (typeof each !== "string" && typeof each !== "number") {
      return [{ message: `"${name}" must be a text` }];
    }
    try {
      applySetting(command, option, String(each));
      return [];
    } catch (error) {
      // Whatever a parser of a value throws says what is wrong with it.
      return [{ message: complaintOf(messageOf(error), String(each)) }];
    }
  });
}

function suggest(name: string, names: readonly string[]): Pick<Complaint, "hint"> {
  const near = nearest(name, names);
  return { hint: near === undefined ? `there are: ${names.join(", ")}` : `did you mean "${near}"?` };
}
