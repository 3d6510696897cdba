/** The rules of a file as they are for one machine: users by their numbers, GPUs by their UUIDs. */
import type { Uid } from "../core/ids.ts";
import type { Reading } from "../core/reading.ts";
import { nearest, printable, truncate } from "../core/text.ts";
import type { Gpu } from "../model/gpu.ts";
import type { AllowedDevice, RulePlace } from "../model/isolation.ts";
import type { DefaultText, RuleFile, RuleMistake, RuleText } from "../model/isolation_rules.ts";
import { placeIn } from "../model/toml_places.ts";
import { allowedDevices } from "./allowed_devices.ts";
import { nameDevice } from "./explain_visible_devices.ts";
import { namePattern } from "./name_pattern.ts";
import type { RuleParty } from "./rule_matching.ts";
import { parseGpuSelectors, selectGpus } from "./select_gpus.ts";

/** What the processes of a rule may use: anything, what their own job or container was given, or some devices. */
export type RuleAllowance =
  | { readonly kind: "any" }
  | { readonly kind: "given" }
  | { readonly kind: "devices"; readonly devices: readonly AllowedDevice[] };

/** A rule for this machine. */
export interface IsolationRule extends RulePlace {
  readonly party: RuleParty;
  readonly allowance: RuleAllowance;
  readonly isExclusive: boolean;
}

/** What holds for processes that no rule is for. Line 0 where the file does not say. */
export interface DefaultRule extends RulePlace {
  readonly allowance: RuleAllowance;
}

/** The rules in their order: the first one that is for a process decides. */
export interface IsolationRules {
  readonly rules: readonly IsolationRule[];
  readonly default: DefaultRule;
  /** Everything in the file that makes no sense, here or anywhere. Nothing may be judged by it then. */
  readonly mistakes: readonly RuleMistake[];
}

/** What the rules are held against. */
export interface RuleMachine {
  readonly gpus: readonly Gpu[];
  /** The machine's own users. Where they cannot be read, names are compared as texts. */
  readonly users: Reading<ReadonlyMap<Uid, string>>;
  /** Who of them is in which group. */
  readonly groups: Reading<ReadonlyMap<string, ReadonlySet<Uid>>>;
}

const SHOWN_CHARACTERS = 60;
/** Parts of a machine's jobs that are given GPUs of their own. */
const GIVEN_KEYS = ["slurm-job", "container", "pod"] as const;
const SHOWN_KEYS = ["user", "uid", "group", ...GIVEN_KEYS, "unit", "cgroup"] as const;

/** Holds a file against a machine. Every mistake is told, none is passed over. */
export function resolveRules(file: RuleFile, machine: RuleMachine): IsolationRules {
  const mistakes = [...file.mistakes];
  const note = (path: string, message: string) =>
    mistakes.push({ place: placeIn(file.places, path), message });
  const lineOf = ({ path }: RuleText | DefaultText) => placeIn(file.places, path).line;
  const rules = file.rules.map((text): IsolationRule => {
    const allowance = resolveGpus(text, { machine, note });
    if (text.exclusive && ["any", "none"].includes(text.gpus.join())) {
      note(`${text.path}/exclusive`, '"exclusive" needs GPUs: "any" and "none" are nobody\'s own');
    }
    if (allowance.kind === "given" && !GIVEN_KEYS.some((key) => key in text)) {
      note(
        `${text.path}/gpus`,
        `"given" needs ${GIVEN_KEYS.join(", ")}: nothing else is given GPUs of its own`,
      );
    }
    const party = resolveParty(text, { machine, note });
    const own = text.exclusive ? ", alone" : "";
    const words = `${describeParty(text)} may use ${describeAllowance(allowance, machine)}${own}`;
    return { line: lineOf(text), text: words, party, allowance, isExclusive: text.exclusive };
  });
  const fallback = resolveDefault(file, { machine, note });
  mistakes.sort((a, b) => a.place.line - b.place.line || a.place.column - b.place.column);
  return { rules, default: fallback, mistakes };
}

interface Resolving {
  readonly machine: RuleMachine;
  readonly note: (path: string, message: string) => void;
}

function resolveDefault({ default: text, places }: RuleFile, resolving: Resolving): DefaultRule {
  const allowance = text === undefined ? { kind: "any" } as const : resolveGpus(text, resolving);
  if (allowance.kind === "given") {
    resolving.note("default/gpus", `"given" needs a rule by ${GIVEN_KEYS.join(", ")}`);
  }
  return {
    line: text === undefined ? 0 : placeIn(places, text.path).line,
    text: `whom no rule names may use ${describeAllowance(allowance, resolving.machine)}`,
    allowance,
  };
}

function resolveGpus({ gpus, path }: RuleText | DefaultText, { machine, note }: Resolving): RuleAllowance {
  const list = gpus.join(",");
  if (list === "any" || list === "given") return { kind: list };
  if (list === "none") return { kind: "devices", devices: [] };
  const failed = (message: string): RuleAllowance => {
    note(`${path}/gpus`, printable(message));
    return { kind: "devices", devices: [] };
  };
  try {
    const selectors = parseGpuSelectors(list);
    const selection = selectGpus(machine.gpus, selectors);
    if (!selection.ok) return failed(selection.message);
    return { kind: "devices", devices: allowedDevices(selection.gpus, selectors) };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return failed(error.message);
  }
}

function resolveParty(text: RuleText, resolving: Resolving): RuleParty {
  const { user, uid, group, unit, container, pod, "slurm-job": slurmJob, cgroup } = text;
  return {
    ...user && { users: resolveUsers(user, text.path, resolving) },
    ...uid && { uids: new Set(uid) },
    ...group && { groups: resolveGroups(group, text.path, resolving) },
    ...unit && { units: unit.map(namePattern) },
    ...container && { containers: container.map(namePattern) },
    ...pod && { pods: pod.map(namePattern) },
    ...slurmJob && { slurmJobs: slurmJob.map(namePattern) },
    ...cgroup && { cgroups: cgroup.map(namePattern) },
  };
}

function resolveUsers(
  names: readonly string[],
  path: string,
  { machine: { users }, note }: Resolving,
): NonNullable<RuleParty["users"]> {
  if (!users.ok) return { uids: new Set(), patterns: names.map(namePattern) };
  const uids = new Set<Uid>();
  for (const name of names.filter((name) => !name.includes("*"))) {
    const found = [...users.value].filter(([, user]) => user === name).map(([uid]) => uid);
    if (found.length === 0) note(`${path}/user`, unknownUser(name, [...users.value.values()]));
    for (const uid of found) uids.add(uid);
  }
  return { uids, patterns: names.filter((name) => name.includes("*")).map(namePattern) };
}

function resolveGroups(
  names: readonly string[],
  path: string,
  { machine: { users, groups }, note }: Resolving,
): NonNullable<RuleParty["groups"]> {
  if (!groups.ok || !users.ok) return { members: new Set(), users: new Set() };
  const members = new Set<Uid>();
  for (const pattern of names.map(namePattern)) {
    const found = [...groups.value].filter(([name]) => pattern.fits(name));
    if (found.length === 0) {
      const near = nearest(pattern.text, [...groups.value.keys()]);
      const hint = near === undefined
        ? "those of a directory service are not known"
        : `did you mean "${cut(near)}"?`;
      note(`${path}/group`, `this machine has no group "${cut(pattern.text)}"; ${hint}`);
    }
    for (const [, uids] of found) for (const uid of uids) members.add(uid);
  }
  return { members, users: new Set(users.value.keys()) };
}

function unknownUser(name: string, users: readonly string[]): string {
  const near = nearest(name, users);
  return `this machine has no user "${cut(name)}"; ${
    near === undefined ? "name those of a directory service by uid" : `did you mean "${cut(near)}"?`
  }`;
}

function describeParty(text: RuleText): string {
  return SHOWN_KEYS.flatMap((key) => {
    const names = text[key];
    return names ? [`${key.replace("-", " ")} ${cut(names.join(" or "))}`] : [];
  }).join(", ");
}

function describeAllowance(allowance: RuleAllowance, { gpus }: RuleMachine): string {
  if (allowance.kind === "any") return "any GPU";
  if (allowance.kind === "given") return "what it was given";
  const names = allowance.devices.map((device) => nameDevice(device, { gpus }));
  return names.length === 0 ? "no GPU" : names.join(", ");
}

function cut(text: string): string {
  return printable(truncate(text, SHOWN_CHARACTERS));
}
