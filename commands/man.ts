/** `gpuctl man`: the manual pages, made from what `--help` says. */
import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { type Ending, GpuctlError } from "../lib/core/errors.ts";
import { nearest } from "../lib/core/text.ts";
import { type CommandDescription, everyCommand, pageName } from "../lib/model/program_description.ts";
import type { Files, Terminal } from "../lib/world/ports.ts";
import { newCommand } from "./options.ts";

interface ManWorld {
  readonly terminal: Pick<Terminal, "out">;
  readonly files: Pick<Files, "writeWhole">;
}

/** Builds the command. */
export function manCommand(
  { terminal, files }: ManWorld,
  end: (ending: Ending) => void,
  _line: readonly string[],
  describe: () => Promise<CommandDescription>,
): CommandUnknownOpts {
  return newCommand("man", "print a manual page, or write all of them to a directory")
    .description(
      "Prints the manual page of a command, or of gpuctl itself, for man(1). It says what --help says, and for each option " +
        "also where else it can be set.",
    )
    .argument("[page...]", "a command, such as snapshot, sim hold or sim-hold")
    .option("--into <directory>", "write every page into this directory")
    .addHelpText("after", EXAMPLES)
    .action(async (words, { into }) => {
      if (into !== undefined && words.length > 0) {
        throw new GpuctlError("usage", "Cannot write one page into a directory: --into writes all of them");
      }
      const [program, { renderManPage }] = await Promise.all([
        describe(),
        import("../lib/render/man_page.ts"),
      ]);
      if (into === undefined) terminal.out(renderManPage(findPage(words, program), program));
      else {
        for (const command of everyCommand(program)) {
          files.writeWhole(`${into}/${pageName(command)}.1`, renderManPage(command, program), {
            isWorldReadable: true,
          });
        }
      }
      end("ok");
    });
}

const EXAMPLES = `
Examples:
  gpuctl man | man -l -
  gpuctl man snapshot | man -l -
  mkdir -p /usr/local/share/man/man1
  gpuctl man --into /usr/local/share/man/man1`;

function findPage(words: readonly string[], program: CommandDescription): CommandDescription {
  const asked = words.join("-").replace(/^(?:gpuctl(?:-|$))?/, "");
  const commands = everyCommand(program);
  const found = commands.find(({ path, aliases }) => path.join("-") === asked || aliases.includes(asked));
  if (found !== undefined) return found;
  const near = nearest(asked, commands.map(({ path }) => path.join("-")));
  throw new GpuctlError("usage", `Cannot print the page "${words.join(" ")}": there is no such command`, {
    hint: near === undefined ? "gpuctl --help lists the commands" : `did you mean gpuctl man ${near}?`,
  });
}
