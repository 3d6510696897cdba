/** Judges by a file of rules whether everybody on a machine keeps to their GPUs. */
import type { Gpu } from "../model/gpu.ts";
import type { AllowedDevice, IsolationVerdict, IsolationViolation } from "../model/isolation.ts";
import { findSuspicions, growthOf, verdictOf } from "./isolation.ts";
import { type IsolationInput, machineOf } from "./isolation_input.ts";
import { judgeIntruders } from "./isolation_intruders.ts";
import { lookNotes } from "./isolation_notes.ts";
import { allowanceOf } from "./isolation_place.ts";
import { generalProblems, gpuProblems } from "./isolation_problems.ts";
import { JobContexts } from "./isolation_ranks.ts";
import { type JudgedContexts, judgeStrays } from "./isolation_strays.ts";
import { divideByRules, type Division, type DivisionInput, type RuleGroup } from "./rule_groups.ts";

type Evidence = Pick<
  IsolationInput,
  "baseline" | "threshold" | "processes" | "untold" | "remarks" | "patience"
>;

/** Everything that was seen of a machine. */
export interface MachineInput extends DivisionInput, Evidence {}

/** The verdict on a machine. Never `isolated` while it was left open which rule is for a process with a context. */
export function judgeByRules(seen: MachineInput): IsolationVerdict {
  const input = { ...seen, machine: machineOf(seen) };
  const { machine, tally, threshold, rules } = input;
  const division = divideByRules(input);
  const whole: IsolationInput = {
    ...input,
    allowed: [],
    lint: [],
    hasRunBefore: true,
    allowsRanks: true,
    whose: (pid) => division.unseen.has(pid) ? "unknown" : "other",
    findOther: (pid) => input.seen.find(pid),
  };
  const gpus = machine.gpus.toSorted((a, b) => a.index - b.index);
  const general = [...generalProblems(whole), ...division.problems];
  const judged = gpus.map((gpu) => judgeGpu(gpu, { whole, division }));
  const violations = judged.flatMap((each) => each.violations);
  const suspicions = judged.flatMap((each) => each.suspicions);
  const problems = [...general, ...judged.flatMap((each) => each.problems)];
  const doubts = [...problems, ...suspicions];
  const anybodys = devicesOfAnybody(division, gpus);
  return {
    verdict: verdictOf(violations, doubts),
    threshold,
    looks: tally.looks,
    longestGap: tally.longestGap,
    gpus: judged.map(({ gpu, growth, ...each }) => ({
      uuid: gpu.uuid,
      index: gpu.index,
      name: gpu.name,
      allowed: allowanceOf(gpu, anybodys),
      verdict: verdictOf(each.violations, [...general, ...each.problems, ...each.suspicions]),
      growth,
    })),
    violations,
    suspicions,
    notes: [
      ...input.remarks ?? [],
      ...division.notes,
      ...new Set(judged.flatMap((each) => each.notes)),
      ...lookNotes(tally, machine),
    ],
    problems,
    rules: [...rules.rules, rules.default].map((rule) => ({
      line: rule.line,
      text: rule.text,
      verdict: verdictOf(violations.filter((each) => each.rule?.line === rule.line), doubts),
      pids: [...division.pidsOf.get(rule) ?? []],
    })),
  };
}

interface Setting {
  readonly whole: IsolationInput;
  readonly division: Division;
}

function judgeGpu(gpu: Gpu, { whole, division }: Setting) {
  const watched = whole.tally.gpu(gpu.uuid);
  const growth = growthOf(gpu, watched, whole.baseline);
  const groups = division.groups.map((group) => judgeGroup(gpu, group, { whole, division }));
  return {
    gpu,
    growth,
    violations: groups.flatMap((each) => each.violations),
    problems: [...gpuProblems(gpu, watched, whole), ...groups.flatMap((each) => each.problems)],
    notes: groups.flatMap((each) => each.notes),
    suspicions: findSuspicions(gpu, watched, { growth, input: whole }),
  };
}

/** Judges on one GPU the processes that a rule gives the same devices, and others where these are theirs alone. */
function judgeGroup(
  gpu: Gpu,
  { rule, allowed, pids }: RuleGroup,
  { whole, division: { unseen, open } }: Setting,
): JudgedContexts {
  const isExclusive = "isExclusive" in rule && rule.isExclusive;
  const input: IsolationInput = {
    ...whole,
    allowed,
    isExclusive,
    whose: (pid) => pids.has(pid) ? "job" : unseen.has(pid) || open.has(pid) ? "unknown" : "other",
  };
  const jobs = new JobContexts(whole.machine.gpus, input.tally, (pid) => pids.has(pid));
  const strays = judgeStrays(gpu, { input, jobs });
  const intruders = isExclusive ? judgeIntruders(gpu, input) : undefined;
  const addRule = (violation: IsolationViolation): IsolationViolation => {
    const process = whole.findOther?.(violation.pid);
    return {
      ...violation,
      ...process && { party: { user: process.user, owner: process.owner } },
      rule: { line: rule.line, text: rule.text },
    };
  };
  return {
    violations: [...strays.violations, ...intruders?.violations ?? []].map(addRule),
    problems: [...strays.problems, ...intruders?.problems ?? []],
    notes: [...strays.notes, ...intruders?.notes ?? []],
  };
}

/** What somebody may use, as far as rules say so. */
function devicesOfAnybody({ groups, pidsOf }: Division, gpus: readonly Gpu[]): readonly AllowedDevice[] {
  const isFree = [...pidsOf.keys()].some(({ allowance }) => allowance.kind === "any");
  return isFree ? gpus.map(({ uuid }) => ({ gpu: uuid })) : groups.flatMap(({ allowed }) => allowed);
}
