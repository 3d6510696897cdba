import type { Reading } from "../core/reading.ts";
import type { Owner, Process } from "../model/process.ts";
import type { Population, ProcessOrigins } from "../world/ports.ts";

export interface MembersWorld {
  readonly population: Pick<Population, "listPids" | "readProcess">;
  readonly origins: Pick<ProcessOrigins, "readOwner">;
}

/** Everybody on the machine whose owner is wanted, whether or not they have to do with a GPU. */
export async function findMembers(
  isWanted: (owner: Reading<Owner>) => boolean,
  { population, origins }: MembersWorld,
): Promise<readonly Process[]> {
  // The owner is one small file; all that is known of a process is ten.
  const wanted = population.listPids().filter((pid) => isWanted(origins.readOwner(pid)));
  const read = await Promise.all(wanted.map((pid) => population.readProcess(pid)));
  return read.filter((process) => process !== undefined);
}
