/** The values of options, wherever they come from: the line, a variable or a file. */
import type { CommandUnknownOpts, Option } from "@commander-js/extra-typings";

/** An option without a value; commander counts `--no-x` out. */
export function isSwitch(option: Option): boolean {
  return option.isBoolean() || option.negate;
}

/**
 * Sets an option as if it had been typed before everything else on the line; a switch to what its own name says.
 *
 * @throws what the option's parser throws
 */
export function applySetting(command: CommandUnknownOpts, option: Option, value: string | boolean): void {
  const key = option.attributeName();
  // What is called --no-xid is kept as `xid`.
  const parsed = typeof value === "boolean"
    ? value !== option.negate
    : option.parseArg
    ? option.parseArg(value, command.getOptionValue(key))
    : value;
  command.setOptionValueWithSource(key, parsed, "config");
}

/** What is wrong with a value, after the name of what it was given to. Commander's sentence about choices says only those. */
export function complaintOf(sentence: string, value: string): string {
  return sentence.replace(/^Allowed choices are (.+)\.$/, (_, choices) => `"${value}" is none of ${choices}`);
}
