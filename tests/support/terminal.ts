/** Runs programs on a pseudo terminal, which script(1) makes: util-linux has it, and every Debian has util-linux. */
import { quoteArguments } from "../../lib/core/text.ts";
import { type RunningProgram, type StartOptions, startProgram } from "./running_program.ts";

export interface TerminalOptions extends Omit<StartOptions, "input"> {
  readonly columns?: number;
  readonly rows?: number;
}

/**
 * Starts a program on a terminal. Its standard output and error both come in `stdout`, with what was typed (the terminal
 * echoes) and with `\r\n`. `type("\x03")` is Ctrl-C. The status is the program's own, 128 and the signal if one ended it.
 */
export function startOnTerminal(
  command: readonly [string, ...string[]],
  { columns = 100, rows = 30, ...options }: TerminalOptions = {},
): RunningProgram {
  const line = `stty cols ${columns} rows ${rows}; exec ${quoteArguments(command)}`;
  return startProgram(["/usr/bin/script", "--quiet", "--flush", "--return", "--command", line, "/dev/null"], {
    ...options,
    env: { TERM: "xterm-256color", SHELL: "/bin/sh", ...options.env },
    input: { isOpen: true },
  });
}
