/** What the program's commands take, as their own help says it: for shells and for manual pages. */

/** What a value is, as far as a shell can help to type it. */
export type ValueKind =
  | { readonly kind: "file" | "directory" }
  /** What `--source` takes. */
  | { readonly kind: "source" }
  /** GPUs of this machine, several with commas. */
  | { readonly kind: "gpus" }
  /** One of these words; of a list several, with commas. */
  | { readonly kind: "words"; readonly words: readonly string[]; readonly isList: boolean }
  /** Only the person can know it. */
  | { readonly kind: "free" };

/** What follows an option, or stands by itself. */
export interface ValueDescription {
  /** `file` of `--output <file>`. */
  readonly name: string;
  readonly is: ValueKind;
  /** Whether more values of the same kind may follow. */
  readonly isVariadic: boolean;
}

/** One option of a command. */
export interface OptionDescription {
  /** As help shows it: `-o, --output <file>`. */
  readonly term: string;
  /** `-o` and `--output`. */
  readonly flags: readonly string[];
  readonly summary: string;
  /** `undefined` for a switch. */
  readonly value: ValueDescription | undefined;
  readonly isRepeatable: boolean;
  /** What it is unless told. */
  readonly default: string | undefined;
  /** The variable that sets it; `undefined` for one that must be typed. */
  readonly variable: string | undefined;
  /** Where a configuration file sets it, if it can. */
  readonly setting: OptionSetting | undefined;
}

/** A key of a configuration file. */
export interface OptionSetting {
  readonly key: string;
  /** The command whose table may hold it. */
  readonly table: string | undefined;
  /** Whether it may stand above all tables. */
  readonly isShared: boolean;
}

/** A value that a command takes by its place. */
export interface ArgumentDescription extends ValueDescription {
  readonly summary: string;
}

/** What may stand after `--`: a command that is run, or options of another command of ours. */
export type AfterDashes = { readonly kind: "command" } | { readonly kind: "options"; readonly of: string };

/** One command, or the program itself, whose path is empty. */
export interface CommandDescription {
  /** `sim`, `hold`. */
  readonly path: readonly string[];
  readonly aliases: readonly string[];
  readonly summary: string;
  readonly description: string;
  /** Each way to call it, as a whole line. */
  readonly usages: readonly string[];
  readonly arguments: readonly ArgumentDescription[];
  readonly options: readonly OptionDescription[];
  readonly commands: readonly CommandDescription[];
  readonly afterDashes: AfterDashes | undefined;
  /** What help says after the options: examples, exit statuses and the like. */
  readonly notes: string;
}

/** A command with all that are below it, itself first. */
export function everyCommand(command: CommandDescription): readonly CommandDescription[] {
  return [command, ...command.commands.flatMap(everyCommand)];
}

/** Under what name a command's manual page lies: `gpuctl-sim-hold`. */
export function pageName({ path }: Pick<CommandDescription, "path">): string {
  return ["gpuctl", ...path].join("-");
}
