/** `gpuctl completions`: the script with which a shell completes gpuctl's command lines. */
import { Argument, type CommandUnknownOpts } from "@commander-js/extra-typings";
import type { Ending } from "../lib/core/errors.ts";
import type { CommandDescription } from "../lib/model/program_description.ts";
import type { Terminal } from "../lib/world/ports.ts";
import { newCommand } from "./options.ts";

const SHELLS = ["bash", "zsh", "fish"] as const;

/** Builds the command. */
export function completionsCommand(
  { terminal }: { readonly terminal: Pick<Terminal, "out"> },
  end: (ending: Ending) => void,
  _line: readonly string[],
  describe: () => Promise<CommandDescription>,
): CommandUnknownOpts {
  return newCommand("completions", "print what makes a shell complete gpuctl's commands and options")
    .description(
      "Prints a script for a shell. It says all by itself: while you type, neither gpuctl nor the driver is asked, and " +
        "nothing is run that stands on the line.",
    )
    .addArgument(new Argument("<shell>", "whose script").choices(SHELLS))
    .addHelpText("after", WHERE)
    .action(async (shell) => {
      const [program, render] = await Promise.all([describe(), loadRenderer(shell)]);
      terminal.out(render(program));
      end("ok");
    });
}

const WHERE = `
Where it goes, for everybody on this machine:
  gpuctl completions bash > /usr/share/bash-completion/completions/gpuctl
  gpuctl completions zsh > /usr/share/zsh/vendor-completions/_gpuctl
  gpuctl completions fish > /usr/share/fish/vendor_completions.d/gpuctl.fish

For you alone:
  bash: in ~/.bashrc                 source <(gpuctl completions bash)
  zsh: in ~/.zshrc, after compinit   source <(gpuctl completions zsh)
  fish                               gpuctl completions fish > ~/.config/fish/completions/gpuctl.fish`;

async function loadRenderer(
  shell: typeof SHELLS[number],
): Promise<(program: CommandDescription) => string> {
  switch (shell) {
    case "bash":
      return (await import("../lib/render/completions_bash.ts")).renderBashCompletions;
    case "zsh":
      return (await import("../lib/render/completions_zsh.ts")).renderZshCompletions;
    case "fish":
      return (await import("../lib/render/completions_fish.ts")).renderFishCompletions;
  }
}
