/** The manual page of a command, of section 1, in the order of man-pages(7). */
import { EXIT } from "../core/errors.ts";
import { VERSION } from "../core/version.ts";
import { type CommandDescription, type OptionDescription, pageName } from "../model/program_description.ts";
import { type NoteBlock, type NotePart, readNotes } from "./help_notes.ts";
import { formatExample, formatMacro, formatText, formatVerbatim } from "./roff.ts";

/** What each exit status means where a command says nothing else. */
const STATUSES = {
  ok: [EXIT.ok, "done; or checked, all of it seen, nothing found"],
  bug: [EXIT.bug, "a bug in gpuctl"],
  usage: [EXIT.usage, "the command line, a variable or a configuration file makes no sense"],
  unavailable: [EXIT.unavailable, "no driver, library or GPU, or something that could not be read"],
  denied: [EXIT.denied, "permission"],
  refused: [EXIT.refused, "a safety rule said no"],
  partial: [EXIT.partial, "some of it done, some not; the report says which"],
  finding: [EXIT.finding, "the check ran and found something"],
} as const satisfies Record<keyof typeof EXIT, readonly [number, string]>;

/** Renders a command's page; `program` is the whole that it belongs to. Equal commands give equal pages: they bear no date. */
export function renderManPage(command: CommandDescription, program: CommandDescription): string {
  const notes = readNotes(command.notes);
  const about = (subject: NotePart["about"]) =>
    notes.filter((part) => part.about === subject).flatMap(({ blocks }) => blocks).map(formatBlock);
  const statuses = about("exit status");
  return [
    formatMacro("TH", pageName(command).toUpperCase(), "1", "", `gpuctl ${VERSION}`, "gpuctl"),
    // Words of a command line are not to be broken, and blanks between them are to be as they are.
    ".nh",
    ".ad l",
    ...section("NAME", [formatText(`${pageName(command)} - ${nameLine(command)}`)]),
    ...section("SYNOPSIS", [formatVerbatim(command.usages)]),
    ...section("DESCRIPTION", [...formatDescription(command), ...about("other")]),
    ...section("COMMANDS", command.commands.map(formatCommand)),
    ...section("ARGUMENTS", command.arguments.map(({ name, summary }) => formatItem(name, summary))),
    ...section("OPTIONS", command.options.map(formatOption)),
    ...section("EXIT STATUS", command.path.length > 0 && statuses.length > 0 ? statuses : formatStatuses()),
    ...section("ENVIRONMENT", formatEnvironment(command)),
    ...section("FILES", formatFiles(command)),
    ...section("EXAMPLES", about("examples")),
    ...section("SEE ALSO", [
      formatText(relativesOf(command, program).map((name) => `${name}(1)`).join(", ")),
    ]),
  ].join("\n") + "\n";
}

/** A section without content is none. */
function section(title: string, blocks: readonly string[]): readonly string[] {
  return blocks.length === 0
    ? []
    : [formatMacro("SH", title), blocks.join("\n.PP\n").replaceAll("\n.PP\n.TP\n", "\n.TP\n")];
}

/** The program has no summary; the first half of its description says what it is for. */
function nameLine({ summary, description }: CommandDescription): string {
  return summary === "" ? description.replace(/\.$/, "") : summary;
}

/** Paragraphs; indented lines among them are to be typed. */
function formatDescription({ description, summary }: CommandDescription): readonly string[] {
  return (description || `${summary}.`).split("\n\n").flatMap((paragraph) => {
    const runs = paragraph.split(/\n(?= )|(?<=(?:^|\n) .*)\n(?! )/);
    return runs.map((run) =>
      run.startsWith(" ")
        ? formatExample(run.split("\n").map((line) => line.replace(/^ {2}/, "")))
        : formatText(run)
    );
  });
}

function formatBlock(block: NoteBlock): string {
  switch (block.kind) {
    case "text":
      return formatText(block.text);
    case "rows":
      return block.rows.map(({ term, text }) => formatItem(term, text)).join("\n");
    case "lines":
      return formatExample(block.lines);
  }
}

function formatItem(term: string, ...texts: readonly string[]): string {
  return [".TP", formatMacro("B", term), texts.map(formatText).join("\n.br\n")].join("\n");
}

function formatCommand(command: CommandDescription): string {
  return formatItem(command.path.join(" "), `${command.summary}; see ${pageName(command)}(1)`);
}

function formatOption(option: OptionDescription): string {
  const { value } = option;
  const choices = value?.is.kind === "words" ? [`One of ${value.is.words.join(", ")}.`] : [];
  const standard = option.default === undefined ? [] : [`Default: ${option.default}.`];
  return formatItem(option.term, option.summary, ...choices, ...standard, ...formatSetting(option));
}

function formatSetting({ variable, setting }: OptionDescription): readonly string[] {
  if (variable === undefined) return [];
  const places = setting === undefined ? [] : [
    ...setting.isShared ? ["above all tables"] : [],
    ...setting.table === undefined ? [] : [`in [${setting.table}]`],
  ];
  const file = places.length === 0 ? "" : `; ${setting?.key} ${places.join(" or ")} of a configuration file`;
  return [`Also set by ${variable}${file}.`];
}

function formatStatuses(): readonly string[] {
  return Object.values(STATUSES).map(([status, meaning]) => formatItem(String(status), meaning));
}

function formatEnvironment(command: CommandDescription): readonly string[] {
  if (!isSettable(command)) return [];
  return [
    formatItem(
      "GPUCTL_*",
      "Options, where it says so above. A switch is 1, true, yes or on; 0, false, no, off or nothing.",
    ),
    formatItem("XDG_CONFIG_HOME, HOME", "Where the configuration of this user is."),
    ...records(command)
      ? [formatItem("XDG_STATE_HOME, XDG_RUNTIME_DIR", "Where records and locks of this user are.")]
      : [],
    formatItem("NO_COLOR, TERM, COLUMNS", "How a table is shown on a terminal."),
  ];
}

function formatFiles(command: CommandDescription): readonly string[] {
  if (!isSettable(command)) return [];
  return [
    formatItem("/etc/gpuctl/config.toml", "Settings for everybody on this machine."),
    formatItem("~/.config/gpuctl/config.toml", "Settings of this user, which outweigh those."),
    ...records(command)
      ? [
        formatItem("/var/log/gpuctl/audit.jsonl", "What root has ended and reset, one JSON object a line."),
        formatItem("~/.local/state/gpuctl/audit.jsonl", "The same of another user."),
        formatItem("/run/gpuctl", "Locks and notes of root until the next boot."),
        formatItem(
          "$XDG_RUNTIME_DIR/gpuctl",
          "The same of another user; /tmp/gpuctl-UID where there is none.",
        ),
      ]
      : [],
  ];
}

/** Whether anything but the command line decides what the command does. The program stands for all of them. */
function isSettable({ path, options }: CommandDescription): boolean {
  return path.length === 0 || options.some(({ variable }) => variable !== undefined);
}

function records({ path, options }: CommandDescription): boolean {
  return path.length === 0 || options.some(({ flags }) => flags.includes("--audit-log"));
}

/** The pages around a command's own. */
function relativesOf(command: CommandDescription, program: CommandDescription): readonly string[] {
  if (command === program) return [...program.commands.map(pageName), "nvidia-smi"];
  const { path, commands, afterDashes } = command;
  return [
    ...path.map((_, depth) => pageName({ path: path.slice(0, depth) })),
    ...commands.map(pageName),
    ...afterDashes?.kind === "options" ? [pageName({ path: [afterDashes.of] })] : [],
  ];
}
