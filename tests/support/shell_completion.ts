/** Completes command lines in real shells, with their own reading of the line. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runProgram } from "./running_program.ts";
import type { TemporaryFolder } from "./temporary.ts";
import { startOnTerminal } from "./terminal.ts";
import { until } from "./until.ts";

export type Shell = "bash" | "zsh" | "fish";

/** What a shell needs to complete: its script, a folder to be in, and what is installed there beside the system's. */
export interface Completing {
  readonly script: string;
  readonly folder: TemporaryFolder;
  readonly path: string;
}

/** Writes the whole line into a file: `\x14` asks for it, once everything that could be meant has been inserted. */
const BASH = (lines: string) => `
PS1='ready> '
bind '"\\C-y": insert-completions'
tell() { printf '%s\\n' "$READLINE_LINE" >> ${lines}; }
bind -x '"\\C-t": tell'
`;
const ZSH = (lines: string) => `
PS1='ready> '
unsetopt beep
autoload -Uz compinit && compinit -u -D
insert_all() { (( compstate[nmatches] > 0 )) && compstate[insert]=all }
complete_all() { comppostfuncs=(insert_all); _main_complete }
zle -C complete-all complete-word complete_all
bindkey '^Y' complete-all
tell() { print -r -- $BUFFER >> ${lines} }
zle -N tell
bindkey '^T' tell
`;

/**
 * What a shell offers at the end of each line: the last word with all of its value, without the option before `=`.
 *
 * @throws {Error} if the shell does not answer, or complains
 */
export async function offerIn(
  shell: Shell,
  lines: readonly string[],
  completing: Completing,
): Promise<readonly (readonly string[])[]> {
  if (shell === "fish") return await offerInFish(lines, completing);
  const completed = await completeAll(shell, lines, completing);
  return completed.map((line, at) => {
    const typed = lines[at] ?? "";
    const offered = line.slice(typed.lastIndexOf(" ") + 1);
    return offered.trim() === typed.slice(typed.lastIndexOf(" ") + 1) ? [] : readWords(offered);
  });
}

/** Words of a line with their quotes. */
function readWords(text: string): readonly string[] {
  return [...text.matchAll(/(?:\\.|[^\\ ])+/g)].map(([word]) => bare(word)).sort();
}

/** The lines as they stand after everything that could be meant at their end has been inserted there. */
async function completeAll(
  shell: "bash" | "zsh",
  typed: readonly string[],
  { script, folder, path }: Completing,
): Promise<readonly string[]> {
  const lines = join(folder.path, "lines");
  const start = `${shell === "bash" ? BASH(lines) : ZSH(lines)}\n${script}`;
  folder.write(shell === "bash" ? "home/.bashrc" : "home/.zshrc", start);
  const home = join(folder.path, "home");
  const command = shell === "bash" ? ["bash", "-i"] as const : ["zsh", "-d", "-i"] as const;
  await using running = startOnTerminal(command, {
    cwd: join(folder.path, "here"),
    env: { HOME: home, ZDOTDIR: home, PATH: path },
    columns: 300,
  });
  await running.untilOutput(/ready> /);
  const answers: string[] = [];
  for (const line of typed) {
    running.type(`${line}\x19\x14\x15`);
    const seen = await until(`${shell} to complete "${line}"`, () => {
      const told = existsSync(lines) ? readFileSync(lines, "utf8").split("\n") : [];
      return told.length > answers.length + 1 ? told : undefined;
    });
    answers.push(seen[answers.length] ?? "");
  }
  running.type("exit\n");
  return answers;
}

/** Fish says by itself what it offers, each with its description behind a tab. */
async function offerInFish(
  lines: readonly string[],
  { script, folder, path }: Completing,
): Promise<readonly (readonly string[])[]> {
  const file = folder.write("gpuctl.fish", script);
  const each = "source $argv[1]; for line in $argv[2..]; complete -C $line; echo end-of-line; end";
  const { stdout, stderr } = await runProgram(["fish", "--no-config", "-c", each, file, ...lines], {
    cwd: join(folder.path, "here"),
    env: { PATH: path },
  });
  if (stderr !== "") throw new Error(`Cannot complete in fish: ${stderr}`);
  return stdout.split("end-of-line\n").slice(0, lines.length).map((offered) =>
    offered.split("\n").filter((text) => text !== "").map((text) => bare(text.replace(/\t.*/, ""))).sort()
  );
}

/** A word without the option that it is the value of, and without what says only that it may go on. */
function bare(word: string): string {
  return word.replace(/^--[\w-]+=(?=.)/, "").replace(/[/=]$/, "");
}
