/** What a Slurm node has that gpuctl looks at: control groups with a job's number, and scripts that slurmd runs. */
import { chmodSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { quoteArguments } from "../../lib/core/text.ts";
import { gpuctlCommand, withRuntime } from "./binary.ts";
import { type ControlGroup, makeControlGroup } from "./control_group.ts";
import { type Ended, runProgram } from "./running_program.ts";
import { temporaryFolder } from "./temporary.ts";

const SCRIPTS = fileURLToPath(new URL("../../deploy/slurm/", import.meta.url));

/** The programs that a script finds on its path in place of the node's; without one, the real gpuctl. */
export interface ScriptPrograms {
  /** The text of a shell script. */
  readonly gpuctl?: string;
}

/** Runs a script of deploy/slurm as slurmd does: with the variables of the job and no search path. */
export async function runSlurmScript(
  name: "prolog.sh" | "epilog.sh",
  env: Readonly<Record<string, string>>,
  { gpuctl = `exec ${quoteArguments(gpuctlCommand())} "$@"` }: ScriptPrograms = {},
): Promise<Ended> {
  using folder = temporaryFolder();
  const install = (path: string, text: string) => chmodSync(folder.write(path, text), 0o755);
  install("bin/gpuctl", `#!/bin/sh\n${gpuctl}\n`);
  // There may be no system log here.
  install("bin/logger", "#!/bin/sh\ncat >&2\n");
  const text = readFileSync(join(SCRIPTS, name), "utf8");
  install(name, text.replace("PATH=/usr/local/bin:", `PATH=${folder.path}/bin:`));
  return await runProgram([join(folder.path, name)], withRuntime({ env }));
}

/** Makes the control group of a Slurm job, where the node's version of control groups has it. */
export function makeSlurmJob(job: number): ControlGroup {
  return makeControlGroup({
    path: ["slurmstepd.scope", `job_${job}`],
    v1: ["slurm", "uid_0", `job_${job}`],
  });
}
