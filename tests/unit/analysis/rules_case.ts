/** Whole machines and rules for them, for judging without a GPU. */
import type { Given } from "../../../lib/analysis/given_devices.ts";
import { judgeByRules, type MachineInput } from "../../../lib/analysis/isolation_by_rules.ts";
import { resolveRules } from "../../../lib/analysis/isolation_rules.ts";
import { IsolationTally } from "../../../lib/analysis/isolation_tally.ts";
import { type Uid, uid } from "../../../lib/core/ids.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import { bytes, milliseconds } from "../../../lib/core/units.ts";
import type { IsolationVerdict } from "../../../lib/model/isolation.ts";
import { parseRuleFile } from "../../../commands/rule_file.ts";
import { type MachineSpec, observe } from "../../support/machine.ts";

export const USERS: ReadonlyMap<Uid, string> = new Map([
  [uid(0), "root"],
  [uid(1000), "alice"],
  [uid(1001), "bob"],
]);
export const GROUPS: ReadonlyMap<string, ReadonlySet<Uid>> = new Map([
  ["students", new Set([uid(1000)])],
  ["staff", new Set([uid(1001)])],
]);
export const ALICE = { uid: 1000, name: "alice" };
export const BOB = { uid: 1001, name: "bob" };
export const ROOT = { uid: 0, name: "root" };

export interface RulesCase {
  readonly rules: string;
  readonly machine: MachineSpec;
  /** A second look; the machine stays as it is without it. */
  readonly later?: MachineSpec;
  readonly given?: Given;
  readonly reused?: readonly number[];
  readonly thresholdMib?: number;
}

/** Everything that was seen of the machine of a case. @throws {Error} if its rules make no sense */
export function machineInput(spec: RulesCase): MachineInput {
  const { report, scan } = observe(spec.machine);
  const later = observe(spec.later ?? spec.machine);
  if (!report.ok || !scan.ok || !later.report.ok || !later.scan.ok) throw new Error("Cannot see the machine");
  const { mistakes, ...rules } = resolveRules(parseRuleFile(spec.rules), {
    gpus: report.value.gpus,
    users: known(USERS),
    groups: known(GROUPS),
  });
  if (mistakes[0]) throw new Error(mistakes[0].message);
  const tally = new IsolationTally();
  tally.add({ at: milliseconds(0), report });
  tally.add({ at: milliseconds(100), report: later.report });
  const processes = new Map([...scan.value.processes, ...later.scan.value.processes]);
  return {
    machine: report.value,
    baseline: report,
    tally,
    threshold: bytes((spec.thresholdMib ?? 0) * 1024 ** 2),
    processes: [...processes.values()].map((process) => ({ process, uses: absent("not-asked") })),
    untold: scan.value.coverage.cutShort,
    seen: {
      find: (pid) => processes.get(pid),
      isReused: (pid) => spec.reused?.includes(pid) === true,
    },
    rules,
    given: () => spec.given ?? { isKnown: false, why: "nobody said so" },
  };
}

export function judgeCase(spec: RulesCase): IsolationVerdict {
  return judgeByRules(machineInput(spec));
}
