import assert from "node:assert/strict";
import { test } from "node:test";
import { judgeIsolation } from "../../../lib/analysis/isolation.ts";
import { encodeIsolation } from "../../../lib/model/isolation_json.ts";
import { renderIsolation } from "../../../lib/render/isolation_text.ts";
import type { ProcessSpec } from "../../support/machine.ts";
import { isolationCase } from "../analysis/isolation_case.ts";
import { ALICE, BOB, judgeCase } from "../analysis/rules_case.ts";

const LOOKS = "2 looks were taken, at most 100 ms apart; a context that lived shorter may not have been seen";
const RULES = '[[rule]]\nuser = "alice"\ngpus = 0\n[[rule]]\nunit = "a.service"\ngpus = 1\n';
const on = (id: number, gpu: number, more: Partial<ProcessSpec> = {}): ProcessSpec => ({
  pid: id,
  touch: "context",
  on: [gpu],
  user: ALICE,
  ...more,
});
const two = (...processes: readonly ProcessSpec[]) => ({ gpus: [{}, {}], processes });
const render = (spec: Parameters<typeof judgeCase>[0]) =>
  renderIsolation(judgeCase(spec), { simulated: false });

test("renderIsolation() counts who kept to the rules, and shows each rule", () => {
  assert.equal(
    render({ rules: RULES, machine: two(on(100, 0), on(101, 0)) }),
    [
      "ISOLATED: 2 processes had a context, and all kept to the rules",
      "",
      "RULES",
      "  line 1: user alice may use GPU 0: 2 processes, isolated",
      "  line 4: unit a.service may use GPU 1: 0 processes, isolated",
      "  default: whom no rule names may use any GPU: 0 processes, isolated",
      "",
      "NOTES",
      `  ${LOOKS}`,
      "",
    ].join("\n"),
  );
});

test("renderIsolation() shows whose a violation is and the rule that it breaks, and obeys no name", () => {
  const text = render({
    rules: RULES,
    machine: two(on(100, 1, { comm: "x\u001b[2J", owner: { slurmJob: "7\u202e" } })),
  });
  assert.deepEqual(text.split("\n").slice(0, 4), [
    "VIOLATED: 1 process broke 1 rule of 3, on GPU 1",
    "",
    "PID 100 (x\\u{1b}[2J) of alice, in Slurm job 7\\u{202e} had 520 MiB on GPU 1: variable-missing",
    "  rule: user alice may use GPU 0 (line 1)",
  ]);
  assert.ok(!["\u001b", "\u202e"].some((character) => text.includes(character)));
});

test("renderIsolation() says that the rules were not proven where somebody could not be told", () => {
  const text = render({ rules: RULES, machine: two(on(100, 1, { user: BOB, hides: ["owner"] })) });
  assert.deepEqual(text.split("\n").slice(0, 7), [
    "NOT PROVEN: whether everybody kept to the rules could not be seen",
    "",
    "RULES",
    "  line 1: user alice may use GPU 0: 0 processes, not proven",
    "  line 4: unit a.service may use GPU 1: 0 processes, not proven",
    "  default: whom no rule names may use any GPU: 0 processes, not proven",
    "",
  ]);
});

test("renderIsolation() tells intruders from what the job itself did", () => {
  const look = [{ contexts: [{ pid: 11 }] }, { contexts: [{ pid: 11 }, { pid: 99 }] }];
  const input = isolationCase({ looks: [look], processes: [{ pid: 11 }], others: [99] });
  const text = renderIsolation(judgeIsolation({ ...input, isExclusive: true }), { simulated: false });
  assert.equal(
    text.split("\n")[0],
    "VIOLATED: the job was given GPU 1; 1 process of it had a context out of place, on GPU 0; 1 process of others " +
      "had a context on GPU 1",
  );
});

test("encodeIsolation() writes whose a violation is, its rule, and every rule", () => {
  const machine = two(on(100, 1, { owner: { unit: "t.service", cgroup: "/t" } }));
  const { violations, rules } = encodeIsolation(judgeCase({ rules: RULES, machine }), { simulated: false });
  assert.deepEqual(violations.map(({ user, owner, rule }) => ({ user, owner, rule })), [{
    user: "alice",
    owner: {
      cgroup: "/t",
      cgroupDeleted: false,
      unit: "t.service",
      loginSession: null,
      container: null,
      pod: null,
      slurmJob: null,
      slurmStep: null,
    },
    rule: { line: 1, text: "user alice may use GPU 0" },
  }]);
  assert.deepEqual(rules, [
    { line: 1, text: "user alice may use GPU 0", verdict: "violated", pids: [100] },
    { line: 4, text: "unit a.service may use GPU 1", verdict: "isolated", pids: [] },
    { line: 0, text: "whom no rule names may use any GPU", verdict: "isolated", pids: [] },
  ]);
});

test("encodeIsolation() has no rules where none were judged by, and nobody's name beside the job's own violations", () => {
  const look = [{ contexts: [{ pid: 11 }] }, {}];
  const isolation = judgeIsolation(isolationCase({ looks: [look], processes: [{ pid: 11 }] }));
  const { violations, rules } = encodeIsolation(isolation, { simulated: false });
  assert.deepEqual([rules, violations.map(({ user, owner, rule }) => [user, owner, rule])], [
    null,
    [[null, null, null]],
  ]);
});
