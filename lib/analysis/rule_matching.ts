/** Whether a rule is for a process. What cannot be read leaves that open: it never counts as no. */
import type { Uid } from "../core/ids.ts";
import { type Absent, absent } from "../core/reading.ts";
import type { Owner, Process } from "../model/process.ts";
import type { NamePattern } from "./name_pattern.ts";
import { isInCgroup, isNameOfContainer } from "./selection.ts";

/** Whom a rule is for. Every part that is there must fit; of several names in a part, one. */
export interface RuleParty {
  readonly users?: { readonly uids: ReadonlySet<Uid>; readonly patterns: readonly NamePattern[] };
  readonly uids?: ReadonlySet<number>;
  /** Members of groups. Whether somebody is one who is not among the users of this machine is not known. */
  readonly groups?: { readonly members: ReadonlySet<Uid>; readonly users: ReadonlySet<Uid> };
  readonly units?: readonly NamePattern[];
  readonly containers?: readonly NamePattern[];
  readonly pods?: readonly NamePattern[];
  readonly slurmJobs?: readonly NamePattern[];
  readonly cgroups?: readonly NamePattern[];
}

/** The answer, or why there is none. */
export type Match = "yes" | "no" | Absent;

/** Matches a process with the party of a rule. */
export function matchParty(process: Pick<Process, "uid" | "user" | "owner">, party: RuleParty): Match {
  const matches = [
    matchUsers(process, party),
    matchUids(process, party),
    matchGroups(process, party),
    matchOwner(process, party),
  ];
  return matches.find((match) => match === "no") ?? matches.find((match) => match !== "yes") ?? "yes";
}

function matchUsers({ uid, user }: Pick<Process, "uid" | "user">, { users }: RuleParty): Match {
  if (users === undefined || users.patterns.some(({ text }) => text === "*")) return "yes";
  if (!uid.ok) return uid;
  if (users.uids.has(uid.value)) return "yes";
  if (users.patterns.length === 0) return "no";
  if (!user.ok) return absent(user.why, `the name of user ${uid.value} is not known here`);
  return users.patterns.some((pattern) => pattern.fits(user.value)) ? "yes" : "no";
}

function matchUids({ uid }: Pick<Process, "uid">, { uids }: RuleParty): Match {
  if (uids === undefined) return "yes";
  if (!uid.ok) return uid;
  return uids.has(uid.value) ? "yes" : "no";
}

function matchGroups({ uid }: Pick<Process, "uid">, { groups }: RuleParty): Match {
  if (groups === undefined) return "yes";
  if (!uid.ok) return uid;
  if (groups.members.has(uid.value)) return "yes";
  if (groups.users.has(uid.value)) return "no";
  return absent("not-reported", `the groups of user ${uid.value} are not known here`);
}

function matchOwner({ owner }: Pick<Process, "owner">, party: RuleParty): Match {
  const { units, containers, pods, slurmJobs, cgroups } = party;
  if ([units, containers, pods, slurmJobs, cgroups].every((names) => names === undefined)) return "yes";
  if (!owner.ok) return owner;
  const { unit, pod, slurmJob, cgroup } = owner.value;
  const isFit = fitsName(unit, units) && fitsName(pod, pods) && fitsName(slurmJob, slurmJobs) &&
    fitsContainer(owner.value, containers) &&
    (fitsName(cgroup, cgroups) || cgroups?.some(({ text }) => isInCgroup(cgroup, text)) === true);
  return isFit ? "yes" : "no";
}

function fitsName(name: string | undefined, patterns: readonly NamePattern[] | undefined): boolean {
  return patterns === undefined || name !== undefined && patterns.some((pattern) => pattern.fits(name));
}

function fitsContainer({ container }: Owner, patterns: readonly NamePattern[] | undefined): boolean {
  if (patterns === undefined) return true;
  if (container === undefined || container.isMonitor) return false;
  return patterns.some((pattern) =>
    pattern.fits(container.id) || isNameOfContainer(pattern.text, container.id)
  );
}
