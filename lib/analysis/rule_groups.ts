/** Which rule each process with a context falls under, and which processes share what they may use. */
import type { Pid } from "../core/ids.ts";
import { type Absent, absent, formatAbsent } from "../core/reading.ts";
import { plural, printable } from "../core/text.ts";
import type { AllowedDevice } from "../model/isolation.ts";
import type { Process } from "../model/process.ts";
import type { Problem } from "../model/snapshot.ts";
import type { Given } from "./given_devices.ts";
import type { IsolationInput } from "./isolation_input.ts";
import type { Seen } from "./isolation_membership.ts";
import type { DefaultRule, IsolationRule, IsolationRules } from "./isolation_rules.ts";
import { findMachineService } from "./machine_service.ts";
import { matchParty } from "./rule_matching.ts";

/** One of the rules, or what holds without one. */
export type AnyRule = IsolationRule | DefaultRule;

/** Processes that one rule gives the same devices. */
export interface RuleGroup {
  readonly rule: AnyRule;
  readonly allowed: readonly AllowedDevice[];
  readonly pids: ReadonlySet<Pid>;
}

export interface DivisionInput extends Pick<IsolationInput, "machine" | "tally"> {
  readonly seen: Seen;
  readonly rules: Omit<IsolationRules, "mistakes">;
  /** What the Slurm job or the container of a process was given. */
  readonly given: (process: Process) => Given;
}

/** Everybody with a context, by rule. */
export interface Division {
  /** Those whose place can be judged. Under a rule that allows any GPU there is nothing to judge. */
  readonly groups: readonly RuleGroup[];
  readonly pidsOf: ReadonlyMap<AnyRule, ReadonlySet<Pid>>;
  /** Those that were gone, or hidden, before anybody could look: they may have been anybody's. */
  readonly unseen: ReadonlySet<Pid>;
  /** Those of whom it is not known which rule is for them. */
  readonly open: ReadonlySet<Pid>;
  readonly problems: readonly Problem[];
  readonly notes: readonly string[];
}

/** Pids that a note names before it only counts. */
const MOST_PIDS = 5;

/** Divides a machine's processes among the rules: the first one that is for a process decides. */
export function divideByRules(input: DivisionInput): Division {
  const { rules: { rules, default: fallback }, seen } = input;
  const pidsOf = new Map<AnyRule, Set<Pid>>([...rules, fallback].map((rule) => [rule, new Set()]));
  const unseen = new Set<Pid>();
  const open = new Map<Pid, Problem>();
  const services: string[] = [];
  for (const pid of pidsWithContext(input)) {
    const process = seen.isReused(pid) ? undefined : seen.find(pid);
    const decision = process && decide(process, rules);
    if (process === undefined) unseen.add(pid);
    else if (decision === undefined) {
      const service = findMachineService(process);
      if (service === undefined) pidsOf.get(fallback)?.add(pid);
      else if (service.ok) services.push(`PID ${pid} (${printable(process.comm)}) ${service.value}`);
      else open.set(pid, openProblem(pid, "a part of the machine", service));
    } else if ("party" in decision) pidsOf.get(decision)?.add(pid);
    else open.set(pid, decision);
  }
  const parts = [...pidsOf].map(([rule, pids]) => groupsOf(rule, pids, input));
  return {
    groups: parts.flatMap((part) => part.groups),
    pidsOf,
    unseen,
    open: new Set(open.keys()),
    problems: [...open.values(), ...parts.flatMap((part) => part.problems)],
    notes: [
      ...parts.flatMap((part) => part.notes),
      ...services.map((service) =>
        `${service}: a part of the machine that no rule names may be on every GPU`
      ),
      ...freeNotes(fallback, pidsOf.get(fallback) ?? new Set()),
    ],
  };
}

function pidsWithContext({ machine, tally }: DivisionInput): ReadonlySet<Pid> {
  return new Set(machine.gpus.flatMap(({ uuid }) => tally.gpu(uuid).contexts.map(({ pid }) => pid)));
}

/** The first rule that is for a process; what keeps that open; or nothing where none is. */
function decide(process: Process, rules: readonly IsolationRule[]): IsolationRule | Problem | undefined {
  for (const rule of rules) {
    const match = matchParty(process, rule.party);
    if (match === "yes") return rule;
    if (match === "no") continue;
    return openProblem(process.pid, `one that the rule in line ${rule.line} is for`, match);
  }
  return undefined;
}

function openProblem(pid: Pid, what: string, reason: Absent): Problem {
  const message = `Whether PID ${pid} is ${what} is not known: ${formatAbsent(reason)}`;
  return { subject: `PID ${pid}`, reason, message };
}

type Groups = Pick<Division, "groups" | "problems" | "notes">;

function groupsOf(rule: AnyRule, pids: ReadonlySet<Pid>, input: DivisionInput): Groups {
  const { allowance } = rule;
  if (allowance.kind === "any") return { groups: [], problems: [], notes: [] };
  if (allowance.kind === "devices") {
    return { groups: [{ rule, allowed: allowance.devices, pids }], problems: [], notes: [] };
  }
  const parts = [...divideByOwner(pids, input.seen)].map(([owner, members]) =>
    givenGroup(rule, owner, members, input)
  );
  return {
    groups: parts.flatMap((part) => part.groups),
    problems: parts.flatMap((part) => part.problems),
    notes: parts.flatMap((part) => part.notes),
  };
}

/** Processes by their Slurm job, or else by their container. */
function divideByOwner(pids: ReadonlySet<Pid>, seen: Seen): ReadonlyMap<string, readonly Process[]> {
  const owners = new Map<string, Process[]>();
  for (const process of [...pids].flatMap((pid) => seen.find(pid) ?? [])) {
    const owner = process.owner.ok ? process.owner.value : undefined;
    const name = owner?.slurmJob !== undefined
      ? `Slurm job ${owner.slurmJob}`
      : owner?.container !== undefined
      ? `container ${owner.container.id.slice(0, 12)}`
      : `PID ${process.pid}`;
    owners.set(name, [...owners.get(name) ?? [], process]);
  }
  return owners;
}

function givenGroup(
  rule: AnyRule,
  owner: string,
  members: readonly Process[],
  { given }: DivisionInput,
): Groups {
  const [first] = members;
  const name = printable(owner);
  const found: Given = first ? given(first) : { isKnown: false, why: "it has no process" };
  if (!found.isKnown) {
    const reason = absent("not-reported", found.why);
    const message = `What ${name} was given is not known: ${found.why}`;
    return { groups: [], problems: [{ subject: name, reason, message }], notes: [] };
  }
  const pids = new Set(members.map(({ pid }) => pid));
  return {
    groups: [{ rule, allowed: found.devices, pids }],
    problems: [],
    notes: [`What ${name} was given is taken from ${found.source}`],
  };
}

/** Who may use every GPU without anybody having said so is told, lest a rule was forgotten. */
function freeNotes({ allowance, line }: DefaultRule, pids: ReadonlySet<Pid>): readonly string[] {
  if (allowance.kind !== "any" || line > 0 || pids.size === 0) return [];
  const shown = [...pids].slice(0, MOST_PIDS).join(", ");
  const more = pids.size > MOST_PIDS ? ` and ${pids.size - MOST_PIDS} more` : "";
  return [
    `No rule names ${plural(pids.size, "process", "processes")} (PID ${shown}${more}): without a [default] ` +
    "they may use any GPU",
  ];
}
