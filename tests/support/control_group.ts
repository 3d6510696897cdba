/** Control groups for real processes, such as a container runtime or Slurm makes. Needs root. */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "./until.ts";

const CGROUPS = "/sys/fs/cgroup";

/** A control group. Dispose of it once the processes in it are gone. */
export interface ControlGroup extends AsyncDisposable {
  /** The file that takes the pids of new members. */
  readonly members: string;
  add(pid: number): void;
}

/**
 * Makes a control group with all groups above it, where this machine's version of control groups has them.
 *
 * @param path the names of the groups, `v1` below one hierarchy where these are older
 */
export function makeControlGroup(
  { path, v1 = path }: { readonly path: readonly string[]; readonly v1?: readonly string[] },
): ControlGroup {
  const names = existsSync(join(CGROUPS, "cgroup.controllers")) ? path : ["memory", ...v1];
  const folders = names.map((_, place) => join(CGROUPS, ...names.slice(0, place + 1)));
  const made = folders.filter((folder) => !existsSync(folder));
  for (const folder of made) mkdirSync(folder);
  const members = join(CGROUPS, ...names, "cgroup.procs");
  return {
    members,
    add: (pid) => writeFileSync(members, String(pid)),
    async [Symbol.asyncDispose]() {
      await until(`${members} to be empty`, () => readFileSync(members, "utf8") === "");
      for (const folder of made.toReversed()) rmdirSync(folder);
    },
  };
}
