/** The script with which bash completes gpuctl: what never changes, and a function for each command. */
import { quoteArguments } from "../core/text.ts";
import {
  type AfterDashes,
  type CommandDescription,
  everyCommand,
  type OptionDescription,
  type ValueKind,
} from "../model/program_description.ts";
import fixedPart from "./completions.bash" with { type: "text" };

/** Renders the script for bash 4.3 and later; it needs no other script. */
export function renderBashCompletions(program: CommandDescription): string {
  const commands = everyCommand(program);
  return [
    fixedPart,
    renderDescent(commands),
    renderDashes(commands),
    ...commands.map(renderCommand),
    "complete -F _gpuctl gpuctl\n",
  ].join("\n");
}

/** From a command and the next word of the line to the command that both name. */
function renderDescent(commands: readonly CommandDescription[]): string {
  const ways = commands.filter(({ path }) => path.length > 0).map((command) => {
    const above = command.path.slice(0, -1).join(" ");
    const names = [command.path.at(-1) ?? "", ...command.aliases];
    return `        ${names.map((name) => quote(`${above}/${name}`)).join(" | ")}) ` +
      `command=${quote(command.path.join(" "))} complete=${functionOf(command.path)} ;;`;
  });
  return ["_gpuctl_descend() {", '    case "$command/$1" in', ...ways, FAIL, ...END].join("\n");
}

/** What may stand after `--`. Its first argument is the offset of the word that does. */
function renderDashes(commands: readonly CommandDescription[]): string {
  const ways = commands.flatMap(({ path, afterDashes }) =>
    afterDashes === undefined ? [] : [`        ${quote(path.join(" "))}) ${actAfter(afterDashes)} ;;`]
  );
  return ["_gpuctl_after_dashes() {", "    case $command in", ...ways, ...END].join("\n");
}

function actAfter(dashes: AfterDashes): string {
  return dashes.kind === "command" ? '_gpuctl_job "$1"' : `_gpuctl_complete ${functionOf([dashes.of])}`;
}

function renderCommand({ path, options, commands, arguments: [place] }: CommandDescription): string {
  const variadic = options.filter(({ value }) => value?.isVariadic).flatMap(({ flags }) => flags);
  const children = commands.map((child) => child.path.at(-1) ?? "");
  return [
    `${functionOf(path)}() {`,
    "    case $1 in",
    `        -)`,
    `            options=(${quoteArguments(options.flatMap(({ flags }) => flags))})`,
    ...variadic.length === 0 ? [] : [`            variadic=(${quoteArguments(variadic)})`],
    `            ;;`,
    ...options.flatMap(renderOption),
    `        '') ${children.length > 0 ? formatWords(children) : formatValue(place?.is)} ;;`,
    FAIL,
    ...END,
  ].join("\n");
}

function renderOption({ flags, value }: OptionDescription): readonly string[] {
  return value === undefined ? [] : [`        ${flags.join(" | ")}) ${formatValue(value.is)} ;;`];
}

function formatValue(is: ValueKind = { kind: "free" }): string {
  switch (is.kind) {
    case "file":
    case "directory":
      return `_gpuctl_paths ${is.kind}`;
    case "source":
      return "_gpuctl_source";
    case "gpus":
      return "_gpuctl_gpus";
    case "words":
      return is.isList ? `_gpuctl_list ${quoteArguments(is.words)}` : formatWords(is.words);
    case "free":
      return ":";
  }
}

function formatWords(words: readonly string[]): string {
  return `_gpuctl_words ${quoteArguments(words)}`;
}

function functionOf(path: readonly string[]): string {
  return ["_gpuctl_of", ...path].join("_").replaceAll("-", "_");
}

function quote(word: string): string {
  return quoteArguments([word]);
}

const FAIL = "        *) return 1 ;;";
const END = ["    esac", "}", ""];
