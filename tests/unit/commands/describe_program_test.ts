import { Argument, Command, type CommandUnknownOpts, Option } from "@commander-js/extra-typings";
import assert from "node:assert/strict";
import { test } from "node:test";
import { describeProgram } from "../../../commands/describe_program.ts";
import type { CommandDescription, OptionDescription } from "../../../lib/model/program_description.ts";

const HELP: OptionDescription = {
  term: "-h, --help",
  flags: ["-h", "--help"],
  summary: "display help for command",
  value: undefined,
  isRepeatable: false,
  default: undefined,
  variable: undefined,
  setting: undefined,
};

function describe(command: CommandUnknownOpts): CommandDescription {
  return describeProgram(new Command("gpuctl").addCommand(command)).commands[0] ?? assert.fail("no command");
}

test("describeProgram() says of a command what its help says", () => {
  const command = new Command("look").alias("see").summary("look around").description("Looks.")
    .usage("[options] -- <command...>\n       gpuctl look <file>").argument("[file]", "a file")
    .addHelpText("after", "\nExamples:\n  gpuctl look");
  assert.deepEqual(describe(command), {
    path: ["look"],
    aliases: ["see"],
    summary: "look around",
    description: "Looks.",
    usages: ["gpuctl look|see [options] -- <command...>", "gpuctl look <file>"],
    arguments: [{ name: "file", summary: "a file", is: { kind: "file" }, isVariadic: false }],
    options: [HELP],
    commands: [],
    afterDashes: { kind: "command" },
    notes: "Examples:\n  gpuctl look",
  });
});

test("describeProgram() knows what a value is, what it is unless told, and where else it may be set", () => {
  const command = new Command("look")
    .addOption(
      new Option("--class <names>", "which").choices(["a", "b"]).argParser(() => new Set<string>())
        .default(new Set(["a"]), "a"),
    )
    .option("--gpu <list>", "where")
    .option("--protect <text>", "whom", (text: string, before: string[]) => [...before, text], [])
    .option("--yes", "do it");
  assert.deepEqual(describe(command).options, [
    {
      ...HELP,
      term: "--class <names>",
      flags: ["--class"],
      summary: "which",
      value: { name: "names", is: { kind: "words", words: ["a", "b"], isList: true }, isVariadic: false },
      default: "a",
      variable: "GPUCTL_CLASS",
      setting: { key: "class", table: "look", isShared: false },
    },
    {
      ...HELP,
      term: "--gpu <list>",
      flags: ["--gpu"],
      summary: "where",
      value: { name: "list", is: { kind: "gpus" }, isVariadic: false },
      variable: "GPUCTL_GPU",
      setting: { key: "gpu", table: "look", isShared: true },
    },
    {
      ...HELP,
      term: "--protect <text>",
      flags: ["--protect"],
      summary: "whom",
      value: { name: "text", is: { kind: "free" }, isVariadic: false },
      isRepeatable: true,
      variable: "GPUCTL_PROTECT",
      setting: { key: "protect", table: "look", isShared: false },
    },
    { ...HELP, term: "--yes", flags: ["--yes"], summary: "do it" },
    HELP,
  ]);
});

test("describeProgram() knows that a command of a command has no table of its own", () => {
  const inner = new Command("hold").option("--gpu <list>").option("--bytes <size>");
  const [{ options } = assert.fail("no command")] = describe(new Command("sim").addCommand(inner)).commands;
  assert.deepEqual(options.map(({ variable, setting }) => [variable, setting]), [
    ["GPUCTL_GPU", { key: "gpu", table: undefined, isShared: true }],
    ["GPUCTL_BYTES", undefined],
    [undefined, undefined],
  ]);
});

test("describeProgram() knows whose options follow the dashes, and the pages that there are", () => {
  const print = new Command("print").usage("[options] [-- <clean-zombies options...>]");
  const man = new Command("man").addArgument(new Argument("[page...]"));
  const program = describeProgram(new Command("gpuctl").addCommand(print).addCommand(man));
  assert.deepEqual(program.commands.map((each) => [each.afterDashes, each.arguments.map(({ is }) => is)]), [
    [{ kind: "options", of: "clean-zombies" }, []],
    [undefined, [{ kind: "words", words: ["gpuctl", "print", "man"], isList: false }]],
  ]);
});
