/** The tree of commands. Only the module of the command that was asked for is loaded. */
import {
  Command,
  CommanderError,
  type CommandUnknownOpts,
  InvalidArgumentError,
} from "@commander-js/extra-typings";
import { type Ending, GpuctlError } from "../lib/core/errors.ts";
import { misuseOf, nameOf, unknownCommand } from "./command_line_errors.ts";
import { foreignVariables, refuseUnknownVariables } from "./foreign_variables.ts";
import { configureHelp } from "./help.ts";
import { repeatOption } from "../lib/core/own_commands.ts";
import { isSourceChoice, sourceOptionOf } from "../lib/model/source_choice.ts";
import { applySettings } from "./settings.ts";
import { goOnWithout } from "./unread_settings.ts";
import type { CommandDescription } from "../lib/model/program_description.ts";
import type { World } from "../lib/world/ports.ts";

/**
 * Builds one command; its action says how it ended through `end`. `line` is the whole command line, as it was given, and
 * `describe` is for those whose subject is the program itself.
 */
export type BuildCommand = (
  world: World,
  end: (ending: Ending) => void,
  line: readonly string[],
  describe: DescribeProgram,
) => CommandUnknownOpts;

/** Describes the whole program, for which every command is loaded. */
export type DescribeProgram = () => Promise<CommandDescription>;

const COMMANDS: Readonly<Record<string, () => Promise<BuildCommand>>> = {
  snapshot: async () => (await import("./snapshot.ts")).snapshotCommand,
  diff: async () => (await import("./diff.ts")).diffCommand,
  "clean-zombies": async () => (await import("./clean_zombies.ts")).cleanZombiesCommand,
  "verify-isolation": async () => (await import("./verify_isolation.ts")).verifyIsolationCommand,
  "reset-gpu": async () => (await import("./reset_gpu.ts")).resetGpuCommand,
  watch: async () => (await import("./watch.ts")).watchCommand,
  doctor: async () => (await import("./doctor.ts")).doctorCommand,
  sim: async () => (await import("./sim.ts")).simCommand,
  systemd: async () => (await import("./systemd.ts")).systemdCommand,
  schema: async () => (await import("./schema.ts")).schemaCommand,
  demo: async () => (await import("./demo.ts")).demoCommand,
  completions: async () => (await import("./completions.ts")).completionsCommand,
  man: async () => (await import("./man.ts")).manCommand,
};
const ALIASES: Readonly<Record<string, string>> = { "diff-before-after": "diff" };

const INTRODUCTION = `Says who holds the GPU's memory, why, and gets it back without hurting anyone's work.`;
const EPILOGUE = `
Examples:
  gpuctl snapshot                         who holds what, and why
  gpuctl diff -- python job.py            does the job give its memory back?
  gpuctl clean-zombies                    what was left behind, and what would be ended
  gpuctl demo                             a tour on a simulated server

Options may also come from variables (GPUCTL_SOURCE=sim:DIR is --source sim:DIR) and from
/etc/gpuctl/config.toml and ~/.config/gpuctl/config.toml; what must be meant, such as --yes, must be typed.
Exit status: 0 fine, 2 usage, 3 unavailable or not provable, 4 permission, 5 refused, 6 partly done, 10 found something.`;

/**
 * Runs one command line.
 *
 * @throws {GpuctlError} for every failure that was foreseen.
 */
export async function runProgram(argv: readonly string[], world: World): Promise<Ending> {
  const words = argv[0] === "help" ? [...argv.slice(1), "--help"] : argv;
  let ending: Ending = "ok";
  const end = (given: Ending) => void (ending = given);
  const program = await buildProgram(words, world, end);
  const [command] = program.commands;
  let chosen: CommandUnknownOpts | undefined;
  if (command && program.commands.length === 1) {
    const { leaf, rest } = leafOf(command, words.slice(1));
    chosen = leaf;
    // Whoever asks what a command takes may have a setting to put right.
    if (!(rest.length === 1 && ["--help", "-h"].includes(rest[0] ?? ""))) await prepare(leaf, words, world);
  }
  try {
    await program.parseAsync([...words], { from: "user" });
  } catch (error) {
    if (error instanceof GpuctlError) throw withSource(error, chosen?.getOptionValue("source"));
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return "ok";
    // Help is shown where a command is missing. Whatever else comes from a parser has not been told yet.
    if (error.code === "commander.help") return "usage";
    throw new GpuctlError("usage", error.message, { cause: error });
  }
  return ending;
}

/** Has a hint that names a command name the machine as well. What shows how a line is written is about no machine. */
function withSource(error: GpuctlError, source: unknown): GpuctlError {
  const option = isSourceChoice(source) ? sourceOptionOf(source) : undefined;
  if (error.hint === undefined || option === undefined || error.failure === "usage") return error;
  const { failure, message, status } = error;
  const hint = repeatOption(error.hint, option);
  return new GpuctlError(failure, message, { hint, cause: error, ...status !== undefined && { status } });
}

/** Gives a command what is set elsewhere than on the line. @throws {GpuctlError} for what makes no sense */
async function prepare(command: CommandUnknownOpts, words: readonly string[], world: World): Promise<void> {
  const foreign = foreignVariables(world.variableNames(), command);
  if (foreign.length > 0) refuseUnknownVariables(foreign, await buildProgram([], world, () => {}));
  const unread = await applySettings(command, {
    everyName: Object.keys(COMMANDS),
    named: namedConfig(words),
  }, world);
  command.hook("preAction", () => goOnWithout(unread, command, world.terminal));
}

/** The command that a line is for, `hold` of `sim hold`, and the words behind its name. */
function leafOf(
  command: CommandUnknownOpts,
  words: readonly string[],
): { readonly leaf: CommandUnknownOpts; readonly rest: readonly string[] } {
  const [word] = words;
  const child = command.commands.find((each) => each.name() === word);
  if (child) return leafOf(child, words.slice(1));
  const isName = word !== undefined && word !== "help" && !word.startsWith("-");
  if (isName && command.commands.length > 0) {
    throw unknownCommand(
      word,
      nameOf(command),
      command.createHelp().visibleCommands(command).map((each) => each.name()),
    );
  }
  return { leaf: command, rest: words };
}

/** The file of `--config`, which is read before the rest of the line is. What follows `--` is the child's. */
function namedConfig(argv: readonly string[]): string | undefined {
  const own = argv.includes("--") ? argv.slice(0, argv.indexOf("--")) : argv;
  const at = own.findLastIndex((word) => word === "--config" || word.startsWith("--config="));
  const word = own[at];
  return word === "--config" ? own[at + 1] : word?.slice("--config=".length);
}

async function buildProgram(
  argv: readonly string[],
  world: World,
  end: (ending: Ending) => void,
): Promise<CommandUnknownOpts> {
  const program = new Command("gpuctl").description(INTRODUCTION).usage("<command> [options]")
    .option("--version", "print the version").addHelpText("after", EPILOGUE);
  const [word] = argv;
  const asked = word !== undefined && Object.hasOwn(ALIASES, word) ? ALIASES[word] : word;
  const isKnown = asked !== undefined && Object.hasOwn(COMMANDS, asked);
  if (asked !== undefined && !isKnown && !asked.startsWith("-")) {
    throw unknownCommand(asked, "gpuctl", Object.keys(COMMANDS));
  }
  const describe = async () => {
    const { describeProgram } = await import("./describe_program.ts");
    return describeProgram(await buildProgram([], world, end));
  };
  const names = isKnown ? [asked] : Object.keys(COMMANDS);
  for (const name of names) {
    const build = await COMMANDS[name]?.();
    if (build) {
      program.addCommand(
        build(world, end, argv, describe).option("--config <file>", "read settings from this file too"),
      );
    }
  }
  program.action(() => program.help());
  configure(program, world);
  return program;
}

function parseFileName(text: string): string {
  if (text === "") throw new InvalidArgumentError("it names no file");
  return text;
}

/** Gives every command of the tree the same manners: no exit, our own writers, no file without a name. */
function configure(command: CommandUnknownOpts, world: World): void {
  configureHelp(command, world.terminal);
  command.exitOverride().configureOutput({
    outputError: (text) => {
      throw misuseOf(text, command);
    },
  });
  for (const option of command.options) {
    if (option.flags.endsWith("<file>") && option.parseArg === undefined) option.argParser(parseFileName);
  }
  for (const child of command.commands) configure(child, world);
}
