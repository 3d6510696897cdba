/** A made-up program with a command of each kind, so that the real ones may change without it. */
import type {
  CommandDescription,
  OptionDescription,
  ValueKind,
} from "../../lib/model/program_description.ts";

const HELP = option("-h, --help", "display help for command");

const LOOK: CommandDescription = {
  ...command(["look"], "say what's there"),
  aliases: ["look-again"],
  description: "Looks; says so.\n\nTo be typed:\n  gpuctl look\n.dotted stays",
  usages: ["gpuctl look|look-again [options] -- <command...>"],
  arguments: [{ name: "file", summary: "where to look", is: { kind: "file" }, isVariadic: true }],
  options: [
    {
      ...option("--format <how>", "how: as [it] \\ is", ["how", words(["table", "json"], false)]),
      default: "table",
      variable: "GPUCTL_FORMAT",
      setting: { key: "format", table: "look", isShared: false },
    },
    {
      ...option("--source <where>", "from where", ["where", { kind: "source" }]),
      variable: "GPUCTL_SOURCE",
      setting: { key: "source", table: "look", isShared: true },
    },
    option("--class <names>", "which", ["names", words(["orphan", "stopped"], true)]),
    option("--gpu <list>", "which GPUs", ["list", { kind: "gpus" }]),
    { ...option("--lint <file...>", "these too", ["file", { kind: "file" }]), isRepeatable: true },
    option("-o, --output <file>", "to there", ["file", { kind: "file" }]),
    option("--audit-log <file>", "what was done", ["file", { kind: "file" }]),
    HELP,
  ],
  afterDashes: { kind: "command" },
  notes: "Exit status:\n  0    seen\n  3    not seen:\n       no eyes\n\nExamples:\n  gpuctl look   and see",
};

const SIM: CommandDescription = {
  ...command(["sim"], "simulate"),
  commands: [{
    ...command(["sim", "init"], "make a server"),
    arguments: [{ name: "directory", summary: "where", is: { kind: "directory" }, isVariadic: false }],
    options: [option("--for <time>", "how long", ["time", { kind: "free" }]), HELP],
    afterDashes: { kind: "options", of: "look" },
  }],
};

/** The program. */
export const PROGRAM: CommandDescription = {
  ...command([], ""),
  description: "Does this and that.",
  options: [option("--version", "print the version"), HELP],
  commands: [LOOK, SIM],
};

function command(path: readonly string[], summary: string): CommandDescription {
  return {
    path,
    aliases: [],
    summary,
    description: "",
    usages: [["gpuctl", ...path, "[options]"].join(" ")],
    arguments: [],
    options: [HELP],
    commands: [],
    afterDashes: undefined,
    notes: "",
  };
}

function option(
  term: string,
  summary: string,
  value?: readonly [name: string, is: ValueKind],
): OptionDescription {
  return {
    term,
    flags: term.split(/[ ,]+/).filter((word) => word.startsWith("-")),
    summary,
    value: value && { name: value[0], is: value[1], isVariadic: term.includes("...") },
    isRepeatable: false,
    default: undefined,
    variable: undefined,
    setting: undefined,
  };
}

function words(each: readonly string[], isList: boolean): ValueKind {
  return { kind: "words", words: each, isList };
}
