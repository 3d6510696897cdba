import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { judgeByRules } from "../../../lib/analysis/isolation_by_rules.ts";
import { absent } from "../../../lib/core/reading.ts";
import type { MachineSpec } from "../../support/machine.ts";
import { ALICE, BOB, machineInput, ROOT } from "../../unit/analysis/rules_case.ts";

const RULES = [
  '[[rule]]\nuser = "alice"\ngpus = 0\nexclusive = true\n[default]\ngpus = "none"',
  '[[rule]]\nslurm-job = "*"\ngpus = "given"\n[[rule]]\nuser = "alice"\ngpus = 1',
  '[[rule]]\nunit = "a*"\ngpus = "0-1"\n[[rule]]\nuser = ["alice", "bob"]\ngpus = "none"\n[default]\ngpus = "any"',
];
const process = fc.record({
  pid: fc.integer({ min: 11, max: 16 }),
  touch: fc.constant("context" as const),
  on: fc.subarray([0, 1], { minLength: 1 }),
  mib: fc.nat({ max: 900 }),
  user: fc.constantFrom(ALICE, BOB, ROOT),
  owner: fc.constantFrom({}, { slurmJob: "7" }, { unit: "a.service" }),
  hides: fc.subarray(["owner", "identity"] as const, { maxLength: 1 }),
});
const machine: fc.Arbitrary<MachineSpec> = fc.record({
  processes: fc.uniqueArray(process, { selector: ({ pid }) => pid, maxLength: 4 }),
  dead: fc.array(fc.record({ pid: fc.constant(17), on: fc.constant([0]), mib: fc.nat({ max: 9 }) }), {
    maxLength: 1,
  }),
  gpus: fc.array(
    fc.record({
      list: fc.constantFrom("known" as const, "known" as const, "incomplete" as const, "hidden" as const),
    }),
    { minLength: 2, maxLength: 2 },
  ),
});
const cases = fc.record({ rules: fc.constantFrom(...RULES), machine, later: machine });
const isListed = ({ gpus }: MachineSpec) => gpus?.every(({ list }) => list === "known") === true;

test("judgeByRules() never says isolated with a list unread, an owner hidden that mattered, or a pid that is gone", () => {
  fc.assert(fc.property(cases, (spec) => {
    const { verdict } = judgeByRules(machineInput(spec));
    const isAllSeen = isListed(spec.machine) && isListed(spec.later) &&
      [spec.machine, spec.later].every(({ dead }) => dead?.length === 0);
    if (!isAllSeen) assert.notEqual(verdict, "isolated");
  }));
});

test("judgeByRules() never says isolated while alice is off her GPU, whoever cannot be read beside her", () => {
  fc.assert(fc.property(machine, (spec) => {
    const { verdict } = judgeByRules(machineInput({ rules: RULES[0] ?? "", machine: spec }));
    const isAstray = spec.processes.some(({ user, on, mib }) =>
      user === ALICE && on?.includes(1) && mib !== 0
    );
    if (isAstray && isListed(spec)) assert.notEqual(verdict, "isolated");
  }));
});

test("judgeByRules() holds on to a violation whatever else could not be seen, and passes nothing beside a doubt", () => {
  fc.assert(fc.property(cases, (spec) => {
    const input = machineInput(spec);
    const before = judgeByRules(input);
    const after = judgeByRules({ ...input, untold: absent("timed-out") });
    assert.deepEqual(after.violations, before.violations);
    assert.equal(after.verdict, before.violations.length > 0 ? "violated" : "unproven");
  }));
});

test("judgeByRules() gives every violation the rule that it breaks", () => {
  fc.assert(fc.property(cases, (spec) => {
    const { violations, rules } = judgeByRules(machineInput(spec));
    for (const { rule } of violations) assert.ok(rules?.some(({ line }) => line === rule?.line));
  }));
});
