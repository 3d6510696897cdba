/** What commander says of a line that makes no sense, in the words that every other mistake has. */
import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { GpuctlError } from "../lib/core/errors.ts";
import { nearest, plural } from "../lib/core/text.ts";
import { complaintOf } from "./setting_values.ts";

interface Complaint {
  readonly message: string;
  readonly hint?: string | undefined;
}

/** The failure that commander's sentence about a command line comes to. */
export function misuseOf(text: string, command: CommandUnknownOpts): GpuctlError {
  const sentence = text.trim().replace(/^error: /, "");
  for (const [pattern, explain] of EXPLANATIONS) {
    const found = pattern.exec(sentence);
    if (!found) continue;
    const { message, hint = `${nameOf(command)} --help says what it takes` } = explain(found, command);
    return new GpuctlError("usage", message, { hint });
  }
  return new GpuctlError("usage", `Cannot run ${nameOf(command)}: ${sentence}`);
}

/** The command as it is typed: `gpuctl sim hold`. */
export function nameOf(command: CommandUnknownOpts): string {
  return command.parent ? `${nameOf(command.parent)} ${command.name()}` : command.name();
}

type Explain = (found: RegExpExecArray, command: CommandUnknownOpts) => Complaint;

/** Of commander 14: its methods `unknownOption`, `optionMissingArgument` and so on. */
const EXPLANATIONS: readonly (readonly [RegExp, Explain])[] = [
  [/^unknown option '([^]*?)'(?:\n[^]*)?$/, explainUnknownOption],
  [/^missing required argument '(.*)'$/, ([, name], command) => ({
    message: `Cannot run ${nameOf(command)}: <${name}> is missing`,
    hint: usageOf(command),
  })],
  [/^option '(.*)' argument missing$/, ([, flags = ""]) => ({
    message: `Cannot use ${longOf(flags)}: its value is missing`,
    hint: flags,
  })],
  [/^too many arguments[^]*? but got (\d+): ([^]*)\.$/, ([, count = "", words = ""], command) => {
    const most = command.registeredArguments.length;
    const takes = most === 0 ? "no words beside its options" : plural(most, "word");
    return {
      message: `Cannot run ${nameOf(command)} with ${quoteWords(words, Number(count))}: it takes ${takes}`,
    };
  }],
  [/^option '(.*?)' argument '([^]*?)' is invalid\. ([^]*)$/, ([, flags = "", word = "", why = ""]) => ({
    message: `Cannot use ${longOf(flags)}: ${complaintOf(why, word)}`,
  })],
  [/^command-argument value '([^]*?)' is invalid for argument '(.*?)'\. ([^]*)$/, (
    [, word = "", , why = ""],
    command,
  ) => ({ message: whole(complaintOf(why, word), command) })],
];

function explainUnknownOption([, flag = ""]: RegExpExecArray, command: CommandUnknownOpts): Complaint {
  const flags = command.options.flatMap(({ long }) => long ?? []);
  const near = nearest(flag.replace(/=.*$/s, ""), [...flags, "--help"]);
  // Whoever forgets the dashes gives us the options of a program of theirs.
  const dashes = / -- <command/.test(command.usage())
    ? `a command to run stands after --: ${nameOf(command)} -- python job.py`
    : undefined;
  const guess = near === undefined ? undefined : `did you mean ${near}?`;
  return {
    message: `Cannot use ${flag}: ${nameOf(command)} has no such option`,
    hint: guess !== undefined && dashes !== undefined ? `${guess} (${dashes})` : guess ?? dashes,
  };
}

/** For a word where the name of a command should be. */
export function unknownCommand(word: string, name: string, candidates: readonly string[]): GpuctlError {
  const near = nearest(word, candidates);
  const state = name === "gpuctl" ? "there is no such command" : `${name} has no such command`;
  return new GpuctlError("usage", `Cannot run "${word}": ${state}`, {
    hint: near === undefined ? `${name} --help lists the commands` : `did you mean ${name} ${near}?`,
  });
}

/** A sentence of a parser's is whole; a state needs its beginning. */
function whole(complaint: string, command: CommandUnknownOpts): string {
  return complaint.startsWith("Cannot ") ? complaint : `Cannot run ${nameOf(command)}: ${complaint}`;
}

function longOf(flags: string): string {
  return /--[\w-]+/.exec(flags)?.[0] ?? flags;
}

function usageOf(command: CommandUnknownOpts): string {
  return `${nameOf(command)} ${command.usage().split("\n")[0]}`;
}

/** Commander joins the words of several with commas, which may stand in a word as well. */
function quoteWords(words: string, count: number): string {
  return count === 1 ? `"${words}"` : `${count} words (${words})`;
}
