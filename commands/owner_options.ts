/** Options that name processes by whom they belong to, and what they come to. */
import { Option } from "@commander-js/extra-typings";
import { isPid, type Pid } from "../lib/core/ids.ts";
import type { OwnerNames } from "../lib/analysis/selection.ts";
import { parsedBy } from "./options.ts";

/** `--user`: any of these users. */
export function userOption(description: string) {
  return new Option("--user <names>", description).argParser(parsedBy(splitList));
}

/** `--container`: one container, by its name, its id, or at least the first twelve digits of that. */
export function containerOption(description: string) {
  return new Option("--container <id>", description).argParser(parsedBy(parseName));
}

/** `--slurm-job`: one job. */
export function slurmJobOption(description: string) {
  return new Option("--slurm-job <id>", description).argParser(parsedBy(parseName));
}

/** `--unit`: one systemd unit. */
export function unitOption(description: string) {
  return new Option("--unit <name>", description).argParser(parsedBy(parseName));
}

/** `--cgroup`: one cgroup and those below it. */
export function cgroupOption(description: string) {
  return new Option("--cgroup <path>", description).argParser(parsedBy(parseName));
}

/** The values of these options, as far as they were given. */
export interface OwnerOptions {
  readonly user?: readonly string[] | undefined;
  readonly container?: string | undefined;
  readonly slurmJob?: string | undefined;
  readonly unit?: string | undefined;
  readonly cgroup?: string | undefined;
}

/** The names that were given. */
export function ownerNames({ user, container, slurmJob, unit, cgroup }: OwnerOptions): OwnerNames {
  return {
    ...user && { users: new Set(user) },
    ...container !== undefined && { container },
    ...slurmJob !== undefined && { slurmJob },
    ...unit !== undefined && { unit },
    ...cgroup !== undefined && { cgroup },
  };
}

/** What an unset variable of a script leaves behind narrows nothing, or everything: it is no name. */
function parseName(text: string): string {
  if (text.trim() === "") throw new SyntaxError("Cannot choose by an empty name");
  return text;
}

/** Reads a list with commas. @throws {SyntaxError} if it names nothing */
export function splitList(text: string): string[] {
  const words = text.split(",").map((word) => word.trim()).filter((word) => word !== "");
  if (words.length === 0) throw new SyntaxError(`Cannot choose by "${text}": it names nothing`);
  return words;
}

/** Reads a list of process ids. @throws {SyntaxError} if one is none */
export function parsePids(text: string): ReadonlySet<Pid> {
  return new Set(
    splitList(text).map((word) => {
      const value = /^\d+$/.test(word) ? Number(word) : NaN;
      if (!isPid(value)) throw new SyntaxError(`Cannot parse "${word}" as a pid`);
      return value;
    }),
  );
}
