/** The words of one simple command. */
export type Command = readonly string[];

const TOKENS = [
  String.raw`(?<blank>[ \t]+|\\\n|#[^\n]*)`,
  String.raw`(?<redirection>\d?[<>]+&?)`,
  String.raw`(?<end>[\n;&|()]+)`,
  String.raw`(?<word>(?:\\.|'[^']*'|"(?:\\.|[^"\\])*"|[^\s;&|()<>\\'"])+)`,
];

/**
 * Splits a script into its simple commands and their words, as a POSIX shell would, without expanding anything. Comments,
 * redirections and the variables set before a command are left out.
 *
 * @throws {SyntaxError} if a quote stays open.
 */
export function splitCommands(script: string): Command[] {
  const commands: string[][] = [[]];
  const token = new RegExp(TOKENS.join("|"), "y");
  let isTarget = false;
  while (token.lastIndex < script.length) {
    const at = token.lastIndex;
    const found = token.exec(script)?.groups;
    if (!found) throw new SyntaxError(`Cannot read "${script}": a quote stays open at ${script.slice(at)}`);
    const { redirection, end, word } = found;
    if (end !== undefined) commands.push([]);
    if (redirection !== undefined) isTarget = true;
    if (word === undefined) continue;
    const command = commands.at(-1) ?? [];
    const isSetting = command.length === 0 && /^\w+=/.test(word);
    if (!isTarget && !isSetting) command.push(unquote(word));
    isTarget = false;
  }
  return commands.filter((words) => words.length > 0);
}

function unquote(word: string): string {
  return word.replace(/'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)/g, (_, single, double, escaped) => {
    return single ?? double?.replace(/\\(["\\$`])/g, "$1") ?? escaped;
  });
}
