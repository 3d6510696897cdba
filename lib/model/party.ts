/** Whose a process is, in words. */
import { printable, truncate } from "../core/text.ts";
import type { Owner, Process } from "./process.ts";

/** Longer names are cut: somebody else has chosen them. */
const SHOWN_CHARACTERS = 60;
/** As much of a container's id as its runtime shows. */
const SHORT_ID = 12;

/** Whose a process is, for a sentence: `alice, in Slurm job 4711`. */
export function nameParty({ user, owner }: Pick<Process, "user" | "owner">): string {
  const name = user.ok ? cut(user.value) : "a user without a name";
  const place = owner.ok ? placeName(owner.value) : undefined;
  return place === undefined ? name : `${name}, in ${place}`;
}

function placeName({ slurmJob, container, pod, unit }: Owner): string | undefined {
  if (slurmJob !== undefined) return `Slurm job ${cut(slurmJob)}`;
  if (container !== undefined) return `container ${printable(container.id.slice(0, SHORT_ID))}`;
  if (pod !== undefined) return `pod ${cut(pod)}`;
  return unit === undefined ? undefined : cut(unit);
}

function cut(text: string): string {
  return printable(truncate(text, SHOWN_CHARACTERS));
}
