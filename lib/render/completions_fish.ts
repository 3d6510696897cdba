/** The script with which fish completes gpuctl: what never changes, and a line for each command and option. */
import type {
  AfterDashes,
  CommandDescription,
  OptionDescription,
  ValueKind,
} from "../model/program_description.ts";
import fixedPart from "./completions.fish" with { type: "text" };

/** Renders the script for fish 3.2 and later. */
export function renderFishCompletions(program: CommandDescription): string {
  return [fixedPart, ...renderCommand(program, [])].join("\n") + "\n";
}

/** @param spellings the command's path, each word with its aliases */
function renderCommand(command: CommandDescription, spellings: readonly string[]): readonly string[] {
  const { options, commands, arguments: [place], afterDashes } = command;
  const below = commands.map(spellingsOf);
  const own = commands.length > 0
    ? condition("is_above", [below.join("|"), ...spellings])
    : condition("is", spellings);
  return [
    ...commands.map((child) => line(own, ["-a", quote(child.path.at(-1) ?? ""), "-d", quote(child.summary)])),
    ...options.map((option) => line(own, formatOption(option))),
    ...options.filter(({ value }) => value?.isVariadic).map(({ flags, value }) =>
      line(`${own}; and ${condition("goes_on", flags)}`, formatValue(value?.is))
    ),
    ...place === undefined || place.is.kind === "free" ? [] : [line(own, formatValue(place.is))],
    ...afterDashes === undefined ? [] : [line(condition("hands_on", spellings), formatRest(afterDashes))],
    ...commands.flatMap((child) => renderCommand(child, [...spellings, spellingsOf(child)])),
  ];
}

function spellingsOf({ path, aliases }: CommandDescription): string {
  return [path.at(-1) ?? "", ...aliases].join("|");
}

function condition(name: string, words: readonly string[]): string {
  return [`__gpuctl_${name}`, ...words.map((word) => /^[\w-]+$/.test(word) ? word : quote(word))].join(" ");
}

function line(when: string, words: readonly string[]): string {
  return ["complete -c gpuctl -n", quote(when), ...words].join(" ");
}

function formatOption({ flags, summary, value }: OptionDescription): readonly string[] {
  return [
    ...flags.map((flag) => flag.startsWith("--") ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`),
    ...value === undefined ? [] : ["-r", ...formatValue(value.is)],
    "-d",
    quote(summary),
  ];
}

function formatValue(is: ValueKind = { kind: "free" }): readonly string[] {
  switch (is.kind) {
    case "file":
      return ["-F"];
    case "directory":
      return ["-f -a", quote("(__gpuctl_directories)")];
    case "source":
      return ["-F -a", quote("(__gpuctl_source)")];
    case "gpus":
      return ["-f -a", quote("(__gpuctl_gpus)")];
    case "words":
      return ["-f -a", quote(is.isList ? `(__gpuctl_list ${formatWords(is.words)})` : formatWords(is.words))];
    case "free":
      return ["-f"];
  }
}

function formatRest(dashes: AfterDashes): readonly string[] {
  const rest = dashes.kind === "command" ? "__gpuctl_rest" : `__gpuctl_rest gpuctl ${dashes.of}`;
  return ["-f -a", quote(`(${rest})`)];
}

function formatWords(words: readonly string[]): string {
  return words.map((word) => /^[\w-]+$/.test(word) ? word : quote(word)).join(" ");
}

/** In single quotes fish knows but two escapes. */
function quote(text: string): string {
  return `'${text.replace(/[\\']/g, "\\$&")}'`;
}
