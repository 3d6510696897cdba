/** What `--help` of the program under test says there is. */
import { spawnSync } from "node:child_process";
import { type CommandHelp, readProgramHelp } from "../../scripts/program_help.ts";
import { gpuctlCommand, withRuntime } from "./binary.ts";

/** One command, or the program, whose path is empty. */
export interface HelpedCommand {
  readonly path: readonly string[];
  readonly flags: readonly string[];
  /** The names of those below it, without aliases. */
  readonly commands: readonly string[];
}

/** Asks every command of the program for its help. */
export function readOwnHelp(): readonly HelpedCommand[] {
  return list([], readProgramHelp(askHelp));
}

function list(path: readonly string[], { flags, commands }: CommandHelp): readonly HelpedCommand[] {
  // An alias has the very help of its command, which stands before it.
  const each = [...commands].filter(([, help], at) => [...commands.values()].indexOf(help) === at);
  return [
    { path, flags: [...flags.keys()], commands: each.map(([name]) => name) },
    ...each.flatMap(([name, help]) => list([...path, name], help)),
  ];
}

function askHelp(path: readonly string[]): string {
  const [program, ...words] = gpuctlCommand();
  const { env } = withRuntime({ env: { PATH: "/usr/bin:/bin" } });
  const { status, stdout, error } = spawnSync(program, [...words, ...path, "--help"], {
    encoding: "utf8",
    env,
  });
  if (status === 0) return stdout;
  throw new Error(`Cannot read the help of gpuctl ${path.join(" ")}`, { cause: error });
}
