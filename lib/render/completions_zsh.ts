/** The script with which zsh completes gpuctl: what never changes, and a function for each command. */
import { quoteArguments } from "../core/text.ts";
import {
  type AfterDashes,
  type CommandDescription,
  everyCommand,
  type OptionDescription,
  type ValueDescription,
  type ValueKind,
} from "../model/program_description.ts";
import fixedPart from "./completions.zsh" with { type: "text" };

/** Renders the script. It may lie in a folder of `fpath`, or be read where compinit has run. */
export function renderZshCompletions(program: CommandDescription): string {
  return [
    fixedPart,
    ...everyCommand(program).map(renderCommand),
    // Loaded from fpath, the whole file is the body of the function that completes; read, it has only to be made known.
    "if [[ $funcstack[1] == _gpuctl ]]; then _gpuctl_of; else compdef _gpuctl_of gpuctl; fi\n",
  ].join("\n");
}

function renderCommand(command: CommandDescription): string {
  const { path, afterDashes } = command;
  return [
    `${functionOf(path)}() {`,
    ...afterDashes === undefined ? [] : [
      "    if compset -N --; then",
      ...actAfter(afterDashes).map((line) => `        ${line}`),
      "        return",
      "    fi",
    ],
    ...command.commands.length > 0 ? descend(command) : [],
    `    _arguments -s ${
      [...command.options.map(specify), ...command.commands.length > 0 ? [] : placesOf(command)].map((spec) =>
        `\\\n        ${spec}`
      ).join(" ")
    }`,
    "}",
    "",
  ].join("\n");
}

/** What stands after the dashes is now all that there is. Options need a first word to stand behind. */
function actAfter(dashes: AfterDashes): readonly string[] {
  if (dashes.kind === "command") return ["_normal"];
  return [
    `words=(${quoteArguments([dashes.of])} "$words[@]")`,
    "(( CURRENT += 1 ))",
    functionOf([dashes.of]),
  ];
}

/** On to the command that was named, or what there is to name. */
function descend({ commands }: CommandDescription): readonly string[] {
  return [
    "    if (( CURRENT > 2 )) && [[ $words[2] != -* ]]; then",
    // Not in a function of its own: what that did to the words would be undone at its end.
    "        compset -n 2",
    "        case $words[1] in",
    ...commands.map(({ path, aliases }) => {
      const names = [path.at(-1) ?? "", ...aliases].map((name) => quoteArguments([name]));
      return `            ${names.join("|")}) ${functionOf(path)} ;;`;
    }),
    "        esac",
    "        return",
    "    elif (( CURRENT == 2 )) && [[ $PREFIX != -* ]]; then",
    "        local -a commands=(",
    ...commands.map(({ path, summary }) => `            ${quote(`${path.at(-1) ?? ""}:${summary}`)}`),
    "        )",
    "        _describe command commands",
    "        return",
    "    fi",
  ];
}

/** An option as _arguments takes it. One that was given is not offered again, unless it may be repeated. */
function specify({ flags, summary, value, isRepeatable }: OptionDescription): string {
  const isAlone = flags.includes("--help") || flags.includes("--version");
  const excludes = isAlone ? "(- *)" : isRepeatable || flags.length === 1 ? "" : `(${flags.join(" ")})`;
  const names = flags.map((flag) =>
    value === undefined ? flag : flag.startsWith("--") ? `${flag}=` : `${flag}+`
  );
  const rest = `[${escape(summary)}]${value === undefined ? "" : formatValue(value)}`;
  const star = isRepeatable ? "*" : "";
  return flags.length === 1
    ? quote(`${excludes}${star}${names.join("")}${rest}`)
    : `${quote(excludes + star)}{${names.join(",")}}${quote(rest)}`;
}

function placesOf({ arguments: places, options }: CommandDescription): readonly string[] {
  const variadic = options.find(({ value }) => value?.isVariadic);
  return places.map((place, at) => {
    const action = place.is.kind === "free" && variadic ? formatMore(variadic) : formatAction(place.is);
    return quote(`${place.isVariadic ? "*" : at + 1}:${escape(place.name)}:${action}`);
  });
}

function formatValue({ name, is }: ValueDescription): string {
  return `:${escape(name)}:${formatAction(is)}`;
}

/** More values of an option that takes several. What _arguments has for that would not let go of the options after it. */
function formatMore({ flags, value }: OptionDescription): string {
  return `{_gpuctl_goes_on ${flags.join(" ")} && ${
    formatAction(value?.is ?? { kind: "free" }).trim() || "true"
  }}`;
}

function formatAction(is: ValueKind): string {
  switch (is.kind) {
    case "file":
      return "_files";
    case "directory":
      return "_files -/";
    case "source":
      return "_gpuctl_source";
    case "gpus":
      return " _gpuctl_gpus";
    case "words":
      return is.isList
        ? ` _gpuctl_list ${quoteArguments(is.words)}`
        : `(${is.words.map(quoteSpaces).join(" ")})`;
    case "free":
      return " ";
  }
}

/** For a text between colons and brackets of _arguments. */
function escape(text: string): string {
  return text.replace(/[\\:[\]]/g, "\\$&");
}

/** For a word of a list in brackets, which _arguments splits and reads again as a shell does. */
function quoteSpaces(text: string): string {
  return text.replace(/[^\w.,/-]/g, "\\$&");
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function functionOf(path: readonly string[]): string {
  return ["_gpuctl_of", ...path].join("_").replaceAll("-", "_");
}
