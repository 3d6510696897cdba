import assert from "node:assert/strict";
import { test } from "node:test";
import { resolveRules } from "../../../lib/analysis/isolation_rules.ts";
import { matchParty } from "../../../lib/analysis/rule_matching.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import { parseRuleFile } from "../../../commands/rule_file.ts";
import { observe, type ProcessSpec, reportOf, uuidOf } from "../../support/machine.ts";
import { ALICE, BOB, GROUPS, USERS } from "./rules_case.ts";

const { gpus } = reportOf({ gpus: [{}, {}, {}], processes: [] });
const ID = "0123456789ab".padEnd(64, "0");

function resolve(text: string, users: Parameters<typeof resolveRules>[1]["users"] = known(USERS)) {
  return resolveRules(parseRuleFile(text), { gpus, users, groups: users.ok ? known(GROUPS) : users });
}

/** Whether a rule of these keys is for a process. */
function match(keys: string, { users, ...spec }: Partial<ProcessSpec> & { readonly users?: "unread" }) {
  const { rules, mistakes } = resolve(
    `[[rule]]\n${keys}\ngpus = "any"`,
    users === "unread" ? absent("no-permission") : known(USERS),
  );
  assert.deepEqual(mistakes, []);
  const { scan } = observe({ processes: [{ pid: 100, user: ALICE, ...spec }] });
  const process = scan.ok
    ? [...scan.value.processes.values()].find(({ pid }) => Number(pid) === 100)
    : undefined;
  const [rule] = rules;
  assert.ok(process && rule);
  return matchParty(process, rule.party);
}

test("resolveRules() finds GPUs by number, range, UUID and bus address, and says each rule in words", () => {
  const { rules, default: fallback, mistakes } = resolve(
    [
      `[[rule]]\nuser = ["alice", "bob"]\ngpus = "1-2"`,
      `[[rule]]\nuid = 1000\nslurm-job = "*"\ngpus = [0, "${uuidOf(2)}"]\nexclusive = true`,
      `[[rule]]\nunit = "a.service"\ngpus = "0000:01:00.0"`,
      `[[rule]]\ncontainer = "x"\ngpus = "given"`,
      `[[rule]]\npod = "x"\ngpus = "none"`,
    ].join("\n"),
  );
  assert.deepEqual(mistakes, []);
  assert.deepEqual(rules.map(({ line, text, allowance }) => [line, text, allowance]), [
    [1, "user alice or bob may use GPU 1, GPU 2", {
      kind: "devices",
      devices: [{ gpu: uuidOf(1) }, { gpu: uuidOf(2) }],
    }],
    [4, "uid 1000, slurm job * may use GPU 0, GPU 2, alone", {
      kind: "devices",
      devices: [{ gpu: uuidOf(0) }, { gpu: uuidOf(2) }],
    }],
    [9, "unit a.service may use GPU 1", { kind: "devices", devices: [{ gpu: uuidOf(1) }] }],
    [12, "container x may use what it was given", { kind: "given" }],
    [15, "pod x may use no GPU", { kind: "devices", devices: [] }],
  ]);
  assert.deepEqual(fallback, {
    line: 0,
    text: "whom no rule names may use any GPU",
    allowance: { kind: "any" },
  });
});

test("resolveRules() tells what the machine does not have together with what makes no sense", () => {
  const { mistakes } = resolve(
    [
      '[[rule]]\nusr = "x"\ngpus = 0',
      '[[rule]]\nuser = ["alcie", "\\u001b[2Jzed"]\ngpus = "0,7"',
      '[[rule]]\nunit = "a"\ngpus = "given"\ngroup = "student"',
      '[[rule]]\nunit = "a"\ngpus = "none"\nexclusive = true',
      '[[rule]]\nunit = "a"\ngpus = ["0", "x\\n"]',
      '[default]\ngpus = "given"',
    ].join("\n"),
  );
  assert.deepEqual(mistakes.map(({ place, message }) => `${place.line}:${place.column} ${message}`), [
    '2:1 there is no key "usr"; did you mean "user"?',
    '5:1 this machine has no user "alcie"; did you mean "alice"?',
    '5:1 this machine has no user "\\u{1b}[2Jzed"; name those of a directory service by uid',
    "6:1 Cannot select GPU 7: this machine has GPU 0-2",
    '9:1 "given" needs slurm-job, container, pod: nothing else is given GPUs of its own',
    '10:1 this machine has no group "student"; did you mean "students"?',
    '14:1 "exclusive" needs GPUs: "any" and "none" are nobody\'s own',
    '17:1 Cannot parse "x" as a GPU: expected an index, a range, a UUID or a PCI address',
    '19:1 "given" needs a rule by slurm-job, container, pod',
  ]);
});

test("matchParty() wants every key of a rule, and of a list one entry", () => {
  const owner = { unit: "a.service" };
  assert.equal(match('user = "alice"\nunit = "a.service"', { owner }), "yes");
  assert.equal(match('user = "bob"\nunit = "a.service"', { owner }), "no");
  assert.equal(match('user = "alice"\nunit = "b.service"', { owner }), "no");
  assert.equal(match('unit = ["b.service", "a.service"]', { owner }), "yes");
  assert.equal(match("uid = [7, 1000]", {}), "yes");
  assert.equal(match("uid = 7", {}), "no");
});

test("matchParty() lets * stand for any text and nothing else for another", () => {
  const owner = { unit: "triton-7.service", slurmJob: "4711", pod: "p.1" };
  for (const pattern of ["*", "triton*", "*.service", "triton-*.service", "t*-*.*e", "triton-7.service"]) {
    assert.equal(match(`unit = "${pattern}"`, { owner }), "yes", pattern);
  }
  for (const pattern of ["triton", "*7", "triton-7.service*x", "TRITON*", "*on*on*", "triton-7.s*service"]) {
    assert.equal(match(`unit = "${pattern}"`, { owner }), "no", pattern);
  }
  assert.equal(match('slurm-job = "*"', { owner }), "yes");
  assert.equal(match('slurm-job = "*"', { owner: {} }), "no");
  assert.equal(match('pod = "p.1"', { owner }), "yes");
  assert.equal(match('pod = "pa1"', { owner }), "no");
});

test("matchParty() knows a container by its name, its id or enough of it, and never by its monitor", () => {
  const container = (id: string, isMonitor = false) => ({
    owner: { container: { id, runtime: "podman", isMonitor } as const },
  });
  assert.equal(match(`container = "${ID}"`, container(ID)), "yes");
  assert.equal(match('container = "0123456789ab"', container(ID)), "yes");
  assert.equal(match('container = "0123"', container(ID)), "no");
  assert.equal(match('container = "web"', container("web")), "yes");
  assert.equal(match('container = "*"', container(ID, true)), "no");
  assert.equal(match('container = "*"', { owner: {} }), "no");
});

test("matchParty() takes a cgroup for itself and all below it", () => {
  const owner = { cgroup: "/user.slice/x" };
  assert.equal(match('cgroup = "/user.slice"', { owner }), "yes");
  assert.equal(match('cgroup = "/user.sl"', { owner }), "no");
  assert.equal(match('cgroup = "/*/x"', { owner }), "yes");
});

test("matchParty() leaves open what cannot be read, unless another key says no", () => {
  const denied = absent("no-permission");
  assert.deepEqual(match('user = "alice"', { hides: ["identity"] }), denied);
  assert.deepEqual(match('unit = "a.service"', { hides: ["owner"] }), denied);
  assert.equal(match('user = "bob"\nunit = "a.service"', { hides: ["owner"] }), "no");
  const elsewhere = { hides: ["identity"], owner: { unit: "b.service" } } as const;
  assert.equal(match('user = "alice"\nunit = "a.service"', elsewhere), "no");
  assert.equal(match('user = "*"', { hides: ["identity"] }), "yes");
});

test("matchParty() knows the members of a group, and leaves open who is not among the machine's users", () => {
  assert.equal(match('group = "students"', {}), "yes");
  assert.equal(match('group = ["staff", "stu*"]', {}), "yes");
  assert.equal(match('group = "students"', { user: BOB }), "no");
  assert.deepEqual(
    match('group = "students"', { user: { uid: 5000, name: "carol" } }),
    absent("not-reported", "the groups of user 5000 are not known here"),
  );
  assert.deepEqual(match('group = "students"', { hides: ["identity"] }), absent("no-permission"));
  assert.deepEqual(
    match('group = "students"', { users: "unread" }),
    absent("not-reported", "the groups of user 1000 are not known here"),
  );
});

test("matchParty() goes by a user's number, as a user of a directory service has no name here", () => {
  const nameless = { user: { uid: 1000, name: "somebody else's name" } };
  assert.equal(match('user = "alice"', nameless), "yes");
  assert.equal(match('user = "alice"', { user: BOB }), "no");
  assert.equal(match('user = "al*"', { user: ALICE }), "yes");
  assert.equal(match('user = "alice"', { user: ALICE, users: "unread" }), "yes");
});
