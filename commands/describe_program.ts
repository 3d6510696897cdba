/** Reads the tree of commands as help reads it, so that completions and manual pages cannot differ from `--help`. */
import type { Argument, CommandUnknownOpts, Option } from "@commander-js/extra-typings";
import {
  type AfterDashes,
  type ArgumentDescription,
  type CommandDescription,
  everyCommand,
  type OptionDescription,
  pageName,
  type ValueKind,
} from "../lib/model/program_description.ts";
import { settingOf, variableOf } from "./setting_names.ts";

/** What the word between the brackets says of a value. */
const KINDS: ReadonlyMap<string, ValueKind> = new Map([
  ["file", { kind: "file" }],
  ["snapshots", { kind: "file" }],
  ["directory", { kind: "directory" }],
  ["where", { kind: "source" }],
  ["gpu", { kind: "gpus" }],
]);
/** Values of these names are several with commas. */
const LISTS = new Set(["list", "names"]);

/** Describes the whole program from its commands. They must all be there. */
export function describeProgram(program: CommandUnknownOpts): CommandDescription {
  const described = describeCommand(program, []);
  return withPages(described, everyCommand(described).map(pageName));
}

function describeCommand(command: CommandUnknownOpts, path: readonly string[]): CommandDescription {
  const help = command.createHelp();
  const usages = help.commandUsage(command).split("\n").map((line) => line.trim());
  return {
    path,
    aliases: command.aliases(),
    summary: command.summary(),
    description: command.description(),
    usages,
    arguments: command.registeredArguments.map(describeArgument),
    options: help.visibleOptions(command).map((option) => describeOption(option, path)),
    commands: help.visibleCommands(command).filter((child) => child.name() !== "help")
      .map((child) => describeCommand(child, [...path, child.name()])),
    afterDashes: usages.map(readDashes).find((found) => found !== undefined),
    notes: notesOf(command),
  };
}

function describeArgument(argument: Argument): ArgumentDescription {
  return {
    name: argument.name(),
    summary: argument.description,
    is: kindOf(argument.name(), argument.argChoices),
    isVariadic: argument.variadic,
  };
}

function describeOption(option: Option, path: readonly string[]): OptionDescription {
  const [, name] = /[<[]([\w-]+)(?:\.\.\.)?[>\]]$/.exec(option.flags) ?? [];
  return {
    term: option.flags,
    flags: [option.short, option.long].filter((flag) => flag !== undefined),
    summary: option.description,
    value: name === undefined ? undefined : {
      name,
      is: option.long === "--gpu" ? { kind: "gpus" } : kindOf(name, option.argChoices),
      isVariadic: option.variadic,
    },
    isRepeatable: option.variadic || Array.isArray(option.defaultValue),
    default: defaultOf(option),
    variable: variableOf(option),
    setting: settingOf(option, path),
  };
}

function kindOf(name: string, choices: readonly string[] | undefined): ValueKind {
  if (choices !== undefined) return { kind: "words", words: choices, isList: LISTS.has(name) };
  return KINDS.get(name) ?? { kind: "free" };
}

function defaultOf({ defaultValue, defaultValueDescription }: Option): string | undefined {
  const isEmpty = defaultValue === undefined || Array.isArray(defaultValue) && defaultValue.length === 0;
  return defaultValueDescription ?? (isEmpty ? undefined : String(defaultValue));
}

/** `gpuctl diff [options] -- <command...>` and `gpuctl systemd print [options] [-- <clean-zombies options...>]`. */
function readDashes(usage: string): AfterDashes | undefined {
  const [, words] = / \[?-- <([^>]+?)\.\.\.>/.exec(usage) ?? [];
  if (words === undefined) return undefined;
  const [, name] = /^([\w-]+) options$/.exec(words) ?? [];
  return name === undefined ? { kind: "command" } : { kind: "options", of: name };
}

/** What comes after the help that commander makes itself. It tells nobody but whoever listens, so we do. */
function notesOf(command: CommandUnknownOpts): string {
  const written: string[] = [];
  const before = command.configureOutput();
  command.configureOutput({ ...before, writeOut: (text) => void written.push(text) }).outputHelp();
  command.configureOutput(before);
  const [, ...notes] = written;
  return notes.join("").trim();
}

/** The names of the pages are known only once everything is described. */
function withPages(command: CommandDescription, pages: readonly string[]): CommandDescription {
  const isPages = ({ name }: ArgumentDescription) => name === "page";
  return {
    ...command,
    arguments: command.arguments.map((each) =>
      isPages(each)
        ? {
          ...each,
          is: { kind: "words", words: pages.map((page) => page.replace(/^gpuctl-/, "")), isList: false },
        }
        : each
    ),
    commands: command.commands.map((child) => withPages(child, pages)),
  };
}
