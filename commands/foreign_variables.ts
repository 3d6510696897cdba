/** Variables that look like settings and are none: a mistyped one would be believed to be in force. */
import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { GpuctlError } from "../lib/core/errors.ts";
import { nearest } from "../lib/core/text.ts";
import { isTypedOnly, settableOptions, variableNamed, variableOf } from "./setting_names.ts";

const PREFIX = "GPUCTL_";
/**
 * What others set for reasons of their own: what a command of `watch --on-alert` is given, our tests, the version that an
 * image was built with, and what Kubernetes tells every container of a Service of our name.
 */
const NO_SETTINGS =
  /^GPUCTL_(?:ALERT_\w+|TEST_\w+|NVML_STUB|VERSION|(?:\w+_)?SERVICE_(?:HOST|PORT(?:_\w+)?)|(?:\w+_)?PORT(?:_\d+_\w+)?)$/;

/** The variables of an environment that are no settings of this command, and should be some of another one. */
export function foreignVariables(names: readonly string[], command: CommandUnknownOpts): readonly string[] {
  const own = new Set(settableOptions(command).map(variableOf));
  return names.filter((name) => name.startsWith(PREFIX) && !own.has(name) && !NO_SETTINGS.test(name));
}

/**
 * Refuses variables that are settings of no command.
 *
 * @param program has all commands
 * @throws {GpuctlError} `usage` for the first of them
 */
export function refuseUnknownVariables(names: readonly string[], program: CommandUnknownOpts): void {
  const options = everyCommand(program).flatMap((command) => command.options);
  const settable = [...new Set(options.flatMap((option) => variableOf(option) ?? []))];
  const name = names.find((each) => !settable.includes(each));
  if (name === undefined) return;
  const typed = options.find(({ long }) =>
    long !== undefined && isTypedOnly(long) && variableNamed(long) === name
  );
  if (typed !== undefined) {
    throw new GpuctlError("usage", `Cannot use ${name}: ${typed.long} counts only on the command line`);
  }
  const near = nearest(name.slice(PREFIX.length), settable.map((each) => each.slice(PREFIX.length)));
  throw new GpuctlError("usage", `Cannot use ${name}: no command has such an option`, {
    hint: near === undefined
      ? "unset it, or look among the variables that gpuctl man COMMAND lists"
      : `did you mean ${PREFIX}${near}?`,
  });
}

function everyCommand(command: CommandUnknownOpts): readonly CommandUnknownOpts[] {
  return [command, ...command.commands.flatMap(everyCommand)];
}
