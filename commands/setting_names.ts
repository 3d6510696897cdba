/** Which options may be set without being typed, and what they are called in a variable and in a file. */
import type { CommandUnknownOpts, Option } from "@commander-js/extra-typings";
import type { OptionSetting } from "../lib/model/program_description.ts";

/** What must be typed by the one who means it, and what only makes sense there. */
const TYPED_ONLY = new Set([
  ...["--yes", "--force", "--evict", "--stop-services", "--nvidia-smi", "--on-alert"],
  ...["--version", "--help", "--config"],
]);
/** Settings that may stand above all tables of a file, for every command that has the option. */
export const SHARED: ReadonlySet<string> = new Set(["source", "deadline", "gpu", "audit-log"]);

/** Whether an option of this long name counts only on the command line. */
export function isTypedOnly(long: string): boolean {
  return TYPED_ONLY.has(long);
}

/** The options of a command that may be set without being typed. */
export function settableOptions(command: CommandUnknownOpts): Option[] {
  return command.options.filter((option) => variableOf(option) !== undefined);
}

/** The variable that an option may come from; `undefined` for one that must be typed. */
export function variableOf({ long }: Pick<Option, "long">): string | undefined {
  return long === undefined || isTypedOnly(long) ? undefined : variableNamed(long);
}

/** What an option's variable is called, whether or not it may come from one. */
export function variableNamed(long: string): string {
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
