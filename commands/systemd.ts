/** `gpuctl systemd`: prints, installs and removes the service and the timer that clean up regularly. */
import { type CommandUnknownOpts, Option } from "@commander-js/extra-typings";
import { type Ending, GpuctlError } from "../lib/core/errors.ts";
import { formatDuration, type Milliseconds, milliseconds, parseDuration } from "../lib/core/units.ts";
import { CLEAN_TIMER, type UnitFile } from "../lib/model/unit_file.ts";
import type { Terminal, World } from "../lib/world/ports.ts";
import { newCommand, parsedBy } from "./options.ts";

/** The part of the world that this command needs. */
export type SystemdWorld = Pick<World, "self" | "openSystemd"> & { readonly terminal: Pick<Terminal, "out"> };

type End = (ending: Ending) => void;

/** More often than this a run would not be over before the next one. */
const SHORTEST_INTERVAL = milliseconds(10_000);

/** Builds the command. */
export function systemdCommand(world: SystemdWorld, end: End): CommandUnknownOpts {
  return newCommand("systemd", "clean up regularly: a hardened service and its timer")
    .description(
      "The service runs gpuctl clean-zombies --yes as root and may do what that needs, and nothing else. It is quiet while " +
        "there is nothing to do; every act is a line in the journal and a record in /var/log/gpuctl/audit.jsonl.",
    )
    .addCommand(printCommand(world, end))
    .addCommand(installCommand(world, end))
    .addCommand(removeCommand(world, end));
}

function printCommand({ terminal, self }: SystemdWorld, end: End): CommandUnknownOpts {
  return newCommand("print", "print both units, each under its path")
    .usage("[options] [-- <clean-zombies options...>]")
    .argument("[words...]", WORDS)
    .addOption(everyOption())
    .option("--program <file>", PROGRAM)
    .action(async (words, { every, program }) => {
      const units = await renderUnits(words, { every, program: program ?? ownProgram(self) });
      terminal.out(units.map(({ name, text }) => `# /etc/systemd/system/${name}\n${text}`).join("\n"));
      end("ok");
    });
}

function installCommand({ terminal, self, openSystemd }: SystemdWorld, end: End): CommandUnknownOpts {
  return newCommand("install", "write both units to /etc/systemd/system and have systemd read them")
    .usage("[options] [-- <clean-zombies options...>]")
    .argument("[words...]", WORDS)
    .addOption(everyOption())
    .option("--now", "start the timer now, and at every boot")
    .option("--force", "replace units of these names that gpuctl did not write")
    .option("--program <file>", PROGRAM)
    .addHelpText("after", INSTALL_HELP)
    .action(async (words, { every, now = false, force = false, program = ownProgram(self) }) => {
      const units = await renderUnits(words, { every, program });
      const { installUnits } = await import("../lib/action/units.ts");
      const systemd = await openSystemd();
      const installed = await installUnits({ units, program, startsNow: now, force }, systemd);
      for (const { path, isNew } of installed.units) {
        terminal.out(isNew ? `Wrote ${path}.\n` : `${path} is up to date.\n`);
      }
      terminal.out(
        installed.timer.isActive
          ? `${CLEAN_TIMER} is at work: gpuctl cleans up every ${formatDuration(every)}.\n`
          : `Nothing runs yet. To start it now and at every boot: systemctl enable --now ${CLEAN_TIMER}\n`,
      );
      end("ok");
    });
}

function removeCommand({ terminal, openSystemd }: SystemdWorld, end: End): CommandUnknownOpts {
  return newCommand("remove", "stop the timer and remove both units; the record of what was ended stays")
    .option("--force", "remove units of these names that gpuctl did not write")
    .action(async ({ force = false }) => {
      const { removeUnits } = await import("../lib/action/units.ts");
      const paths = await removeUnits({ force }, await openSystemd());
      for (const path of paths) terminal.out(`Removed ${path}.\n`);
      if (paths.length === 0) terminal.out("Nothing to remove: no unit of gpuctl's is installed.\n");
      end("ok");
    });
}

const WORDS = "options of gpuctl clean-zombies, after --";
const PROGRAM = "where gpuctl lies when the units run; this program unless told";
const INSTALL_HELP = `
The units run with --min-age 5m unless told otherwise after --. What stands there outweighs /etc/gpuctl/config.toml. Files
that the options name may be used by the unit; those that only a configuration file names may not.

Example:
  gpuctl systemd install --now --every 30m -- --protect jupyter --class orphan`;

function everyOption() {
  return new Option("--every <time>", "from one look to the next").argParser(parsedBy(parseInterval))
    .default(milliseconds(600_000), "10m");
}

function parseInterval(text: string): Milliseconds {
  const interval = parseDuration(text);
  if (interval >= SHORTEST_INTERVAL) return interval;
  throw new SyntaxError(`Cannot clean every ${text}: the shortest interval is 10s`);
}

async function renderUnits(
  words: readonly string[],
  { every, program }: { readonly every: Milliseconds; readonly program: string },
): Promise<readonly UnitFile[]> {
  const [{ readCleaning }, { renderCleaningUnits }] = await Promise.all([
    import("./systemd_cleaning.ts"),
    import("../lib/render/systemd_units.ts"),
  ]);
  return renderCleaningUnits({ ...readCleaning(program, words), every });
}

function ownProgram([program, ...more]: readonly string[]): string {
  if (program !== undefined && more.length === 0) return program;
  throw new GpuctlError("usage", "Cannot name this program in a unit: it runs from its sources", {
    hint: "--program names an installed one, such as /usr/bin/gpuctl",
  });
}
