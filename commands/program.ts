/** The tree of commands. Only the module of the command that was asked for is loaded. */
import {
  Command,
  CommanderError,
  type CommandUnknownOpts,
  InvalidArgumentError,
} from "@commander-js/extra-typings";
import { type Ending, GpuctlError } from "../lib/core/errors.ts";
import { nearest, printableLines } from "../lib/core/text.ts";
import { applySettings } from "./settings.ts";
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
  let ending: Ending = "ok";
  const program = await buildProgram(argv, world, (given) => ending = given);
  const [command] = program.commands;
  if (command && program.commands.length === 1) {
    await applySettings(leafOf(command, argv.slice(1)), {
      everyName: Object.keys(COMMANDS),
      named: namedConfig(argv),
    }, world);
  }
  try {
    await program.parseAsync([...argv], { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? "ok" : "usage";
  }
  return ending;
}

/** The command that a line is for: `hold` of `sim hold`. */
function leafOf(command: CommandUnknownOpts, words: readonly string[]): CommandUnknownOpts {
  const child = command.commands.find((each) => each.name() === words[0]);
  return child ? leafOf(child, words.slice(1)) : command;
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
  const asked = argv[0] === undefined ? undefined : ALIASES[argv[0]] ?? argv[0];
  const describe = async () => {
    const { describeProgram } = await import("./describe_program.ts");
    return describeProgram(await buildProgram([], world, end));
  };
  const names = asked !== undefined && Object.hasOwn(COMMANDS, asked) ? [asked] : Object.keys(COMMANDS);
  for (const name of names) {
    const build = await COMMANDS[name]?.();
    if (build) {
      program.addCommand(
        build(world, end, argv, describe).option("--config <file>", "read settings from this file too"),
      );
    }
  }
  program.argument("[command]").action((word) => {
    if (word === undefined) return program.help();
    const near = nearest(word, Object.keys(COMMANDS));
    throw new GpuctlError("usage", `Cannot run "${word}": there is no such command`, {
      hint: near === undefined ? "gpuctl --help lists the commands" : `did you mean gpuctl ${near}?`,
    });
  });
  configure(program, world);
  return program;
}

/** A complaint of commander's with its suggestion as the hint that every other one has. */
function sayInOurWords(text: string): string {
  return text.replace(/^error: /, "").replace(/\n\(Did you mean (.+)\?\)/, "\n  hint: did you mean $1?");
}

function parseFileName(text: string): string {
  if (text === "") throw new InvalidArgumentError("It names no file.");
  return text;
}

/** Gives every command of the tree the same manners: no exit, our own writers, no file without a name. */
function configure(command: CommandUnknownOpts, world: World): void {
  command.exitOverride().configureHelp({ showGlobalOptions: false, optionTerm: (option) => option.flags })
    .configureOutput({
      writeOut: (text) => world.terminal.out(text),
      writeErr: (text) => world.terminal.err(text),
      outputError: (text, write) => write(`gpuctl: ${printableLines(sayInOurWords(text))}`),
    });
  for (const option of command.options) {
    if (option.flags.endsWith("<file>") && option.parseArg === undefined) option.argParser(parseFileName);
  }
  for (const child of command.commands) configure(child, world);
}
