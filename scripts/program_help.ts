/** What a command takes, as its `--help` says. */
export interface CommandHelp {
  /** Each flag, `--gpu` or `-o`, and whether a value follows it. */
  readonly flags: ReadonlyMap<string, boolean>;
  readonly commands: ReadonlyMap<string, CommandHelp>;
}

/** Deeper than any command of ours: help that names commands without end is not the help of a command. */
const MAX_DEPTH = 4;

/** Reads the help of a program and of all its commands. `askHelp` runs it with the words of a command and `--help`. */
export function readProgramHelp(
  askHelp: (path: readonly string[]) => string,
  path: readonly string[] = [],
): CommandHelp {
  if (path.length > MAX_DEPTH) {
    throw new Error(`Cannot read the help: ${path.join(" ")} has commands without end`);
  }
  const lines = askHelp(path).split("\n");
  const commands = commandNames(lines).filter(([name]) => name !== "help").flatMap((names) => {
    const help = readProgramHelp(askHelp, [...path, names[0] ?? ""]);
    return names.map((name) => [name, help] as const);
  });
  return { flags: new Map(lines.flatMap(flagsOf)), commands: new Map(commands) };
}

/** The flags of a line such as `  -o, --output <file>  write here`. */
function flagsOf(line: string): (readonly [string, boolean])[] {
  const [, short, long, value] = /^ {2}(?:(-\w)(?:, )?)?(--[\w-]+)?((?: |=)?[<[][^>\]]+[>\]])?/.exec(line) ??
    [];
  return [short, long].flatMap((flag) => flag === undefined ? [] : [[flag, value !== undefined] as const]);
}

/** Name and alias of each command, from the lines under a heading that speaks of commands. */
function commandNames(lines: readonly string[]): string[][] {
  let isUnderCommands = false;
  return lines.flatMap((line) => {
    if (/^\S.*:$/.test(line)) isUnderCommands = /commands:$/i.test(line);
    const name = isUnderCommands ? /^ {2}([a-z][\w|:-]*)/.exec(line)?.[1] : undefined;
    return name === undefined ? [] : [name.split("|")];
  });
}

/**
 * Holds a command line against the help: every command and flag in it must exist. Words after `--` are another program's,
 * and `COMMAND` or `<name>` stands for anything.
 *
 * @returns what is wrong with it, if anything is
 */
export function objectionTo(words: readonly string[], program: CommandHelp): string | undefined {
  let help = program;
  for (let at = 1; at < words.length; at++) {
    const word = words[at] ?? "";
    if (word === "--" || /^(?:[A-Z_]{2,}|<.*|…|\.\.\.)$/.test(word)) return undefined;
    if (/^--?\w/.test(word)) {
      const [flag = word, given] = word.split("=", 2);
      const takesValue = help.flags.get(flag) ?? program.flags.get(flag);
      if (takesValue === undefined && !["--help", "-h"].includes(flag)) {
        return `${words.slice(0, at).filter((part) => /^[a-z]/.test(part)).join(" ")} has no ${flag}`;
      }
      if (takesValue && given === undefined) at++;
    } else if (help.commands.size > 0) {
      const next = help.commands.get(word);
      if (!next) return `${words.slice(0, at).join(" ")} has no command ${word}`;
      help = next;
    }
  }
  return undefined;
}

/** Says whether any command of the program has the flag. */
export function hasFlag(flag: string, help: CommandHelp): boolean {
  return help.flags.has(flag) || [...help.commands.values()].some((command) => hasFlag(flag, command));
}
