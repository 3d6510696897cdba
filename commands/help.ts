/** How help looks: as wide as the terminal, or as a terminal usually is. */
import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { renderHelpNotes } from "../lib/render/help_text.ts";
import type { Terminal } from "../lib/world/ports.ts";

/** Where standard output is no terminal. */
const USUAL_COLUMNS = 80;
/** Longer lines are hard to read. */
const MOST_COLUMNS = 100;

/** Makes a command write its help to a terminal of ours. */
export function configureHelp(command: CommandUnknownOpts, terminal: Terminal): void {
  const columns = () => Math.min(terminal.screen?.columns ?? USUAL_COLUMNS, MOST_COLUMNS);
  command.configureHelp({
    showGlobalOptions: false,
    optionTerm: (option) => option.flags,
    subcommandTerm: (child) => [child.name(), ...child.aliases()].join("|"),
  }).configureOutput({
    getOutHelpWidth: columns,
    getErrHelpWidth: columns,
    getOutHasColors: () => false,
    getErrHasColors: () => false,
    writeOut: (text) => terminal.out(fitted(text, columns())),
    writeErr: (text) => terminal.err(fitted(text, columns())),
  });
}

/** What comes beside the help that commander makes itself are our notes, in lines as they stand in the source. */
function fitted(text: string, columns: number): string {
  return text.startsWith("Usage: ") ? text : renderHelpNotes(text, columns);
}
