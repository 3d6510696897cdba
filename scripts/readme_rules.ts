import { type Code, parseMarkdown } from "./markdown.ts";
import { type CommandHelp, hasFlag, objectionTo } from "./program_help.ts";
import { type Command, splitCommands } from "./shell_words.ts";

/** What README.md is held against. */
export interface Truth {
  readonly exitStatuses: Readonly<Record<string, number>>;
  readonly help: CommandHelp;
  /** The tasks of deno.json. */
  readonly tasks: readonly string[];
}

const RUNNERS = ["sudo", "time"];

/** A sentence for each claim of a README that is not so, and for each part that every README of ours must have. */
export function findMistakes(readme: string, { exitStatuses, help, tasks }: Truth): string[] {
  const { scripts, inline, tables } = parseMarkdown(readme);
  const [, statusTable] = [...tables].find(([heading]) => /exit (?:status|code)/i.test(heading)) ?? [];
  const examples = [...scripts, ...inline.filter(({ text }) => /^(?:gpuctl|npx|deno) /.test(text))].flatMap(
    commandsOf,
  );
  const mistakes = examples.flatMap(({ line, words }) => {
    const objection = words[0] === "gpuctl" ? objectionTo(words, help) : objectionToTask(words, tasks);
    return objection === undefined ? [] : [`README.md:${line}: ${objection}`];
  });
  for (const { line, text } of inline) {
    const [flag] = /^--[a-z][\w-]*/.exec(text) ?? [];
    if (flag !== undefined && !hasFlag(flag, help)) {
      mistakes.push(`README.md:${line}: no command has ${flag}`);
    }
  }
  if (!examples.some(({ words }) => words[0] === "gpuctl")) {
    mistakes.push("README.md has no example: expected a fenced sh block with a line that starts with gpuctl");
  }
  return [...mistakes, ...statusMistakes(statusTable, exitStatuses)];
}

function commandsOf({ line, text }: Code): { readonly line: number; readonly words: Command }[] {
  const isMarked = /^\$ /m.test(text);
  // In a block with prompts, the other lines are what the program printed.
  const script = isMarked
    ? text.split("\n").filter((row) => row.startsWith("$ ")).map((row) => row.slice(2)).join("\n")
    : text;
  return splitCommands(script).map((words) => ({
    line,
    words: RUNNERS.includes(words[0] ?? "") ? words.slice(1) : words,
  }));
}

/** `npx -y deno@2.9.6 task demo` and `deno task demo`: the task must exist. */
function objectionToTask(words: Command, tasks: readonly string[]): string | undefined {
  const at = words.findIndex((word) => /^deno(?:@|$)/.test(word));
  if (at < 0 || words[at + 1] !== "task") return undefined;
  const task = words[at + 2];
  return task === undefined || tasks.includes(task) ? undefined : `deno.json has no task ${task}`;
}

function statusMistakes(
  table: readonly (readonly string[])[] | undefined,
  statuses: Readonly<Record<string, number>>,
): string[] {
  if (!table) {
    return ['README.md has no table under a heading with "exit status": expected | code | name | meaning |'];
  }
  const rows = table.filter(([code]) => /^\d+$/.test(code ?? ""));
  const wrong = rows.filter(([code, name]) => statuses[name ?? ""] !== Number(code))
    .map(([code, name]) => `README.md: exit status ${code} is not called ${name}`);
  const missing = Object.entries(statuses).filter(([name]) => !rows.some((row) => row[1] === name))
    .map(([name, code]) => `README.md: exit status ${code} (${name}) is not in the table`);
  return [...wrong, ...missing];
}
