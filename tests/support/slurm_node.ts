/** What a Slurm node has that gpuctl looks at: control groups with a job's number, and scripts that slurmd runs. */
import { chmodSync, existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { quoteArguments } from "../../lib/core/text.ts";
import { gpuctlCommand, withRuntime } from "./binary.ts";
import { type Ended, runProgram } from "./running_program.ts";
import { temporaryFolder } from "./temporary.ts";
import { until } from "./until.ts";

const SCRIPTS = fileURLToPath(new URL("../../deploy/slurm/", import.meta.url));
const CGROUPS = "/sys/fs/cgroup";

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

/** The control group of a Slurm job. Dispose of it once the processes in it are gone. */
export interface SlurmJobGroup extends AsyncDisposable {
  add(pid: number): void;
}

/** Makes the control group of a Slurm job, where the node's version of control groups has it. */
export function makeSlurmJob(job: number): SlurmJobGroup {
  const path = existsSync(join(CGROUPS, "cgroup.controllers"))
    ? ["slurmstepd.scope", `job_${job}`]
    : ["memory", "slurm", "uid_0", `job_${job}`];
  const folders = path.map((_, place) => join(CGROUPS, ...path.slice(0, place + 1)));
  const made = folders.filter((folder) => !existsSync(folder));
  for (const folder of made) mkdirSync(folder);
  const members = join(CGROUPS, ...path, "cgroup.procs");
  return {
    add: (pid) => writeFileSync(members, String(pid)),
    async [Symbol.asyncDispose]() {
      await until(`${members} to be empty`, () => readFileSync(members, "utf8") === "");
      for (const folder of made.toReversed()) rmdirSync(folder);
    },
  };
}
