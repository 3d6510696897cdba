import assert from "node:assert/strict";
import { test } from "node:test";
import { pid } from "../../../lib/core/ids.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import { bytes, milliseconds } from "../../../lib/core/units.ts";
import type { IsolationVerdict } from "../../../lib/model/isolation.ts";
import { type ProcessSpec, uuidOf } from "../../support/machine.ts";
import { ALICE, BOB, judgeCase, ROOT } from "./rules_case.ts";

const MIB = 1024 ** 2;
const LOOKS = "2 looks were taken, at most 100 ms apart; a context that lived shorter may not have been seen";
const ALICE_ON_0 = '[[rule]]\nuser = "alice"\ngpus = 0\n';
const four = (...processes: readonly ProcessSpec[]) => ({ gpus: [{}, {}, {}, {}], processes });
const on = (id: number, gpus: readonly number[], more: Partial<ProcessSpec> = {}): ProcessSpec => ({
  pid: id,
  touch: "context",
  on: gpus,
  user: ALICE,
  ...more,
});
const broken = ({ violations }: IsolationVerdict) =>
  violations.map(({ pid, index, cause, rule }) => [pid, index, cause, rule?.line]);

test("judgeByRules() says isolated when everybody is on the GPUs of their rule", () => {
  const judged = judgeCase({ rules: `${ALICE_ON_0}[default]\ngpus = "none"`, machine: four(on(100, [0])) });
  assert.equal(judged.verdict, "isolated");
  assert.deepEqual(judged.rules, [
    { line: 1, text: "user alice may use GPU 0", verdict: "isolated", pids: [pid(100)] },
    { line: 4, text: "whom no rule names may use no GPU", verdict: "isolated", pids: [] },
  ]);
  assert.deepEqual(judged.gpus.map(({ allowed, verdict }) => [allowed, verdict]), [
    ["wholly", "isolated"],
    ["not", "isolated"],
    ["not", "isolated"],
    ["not", "isolated"],
  ]);
  assert.deepEqual([judged.violations, judged.problems, judged.notes], [[], [], [LOOKS]]);
});

test("judgeByRules() gives a violation its rule, its cause and whose it is", () => {
  const owner = { cgroup: "/system.slice/slurmstepd.scope/job_7", slurmJob: "7" };
  const judged = judgeCase({ rules: ALICE_ON_0, machine: four(on(100, [0, 2], { owner })) });
  assert.equal(judged.verdict, "violated");
  assert.deepEqual(judged.violations, [{
    gpu: uuidOf(2),
    index: 2,
    pid: pid(100),
    command: "python3.12",
    contextBytes: bytes(520 * MIB),
    cause: "variable-missing",
    explanation:
      "CUDA_VISIBLE_DEVICES was not set when the process started, so CUDA showed it every GPU. If the program " +
      "sets it by itself, it does so too late",
    fix:
      `Start the job with CUDA_VISIBLE_DEVICES=${uuidOf(0)}; gpuctl verify-isolation --lint finds where a ` +
      "program sets it too late",
    party: { user: known("alice"), owner: known({ ...owner, isCgroupDeleted: false }) },
    rule: { line: 1, text: "user alice may use GPU 0" },
  }]);
  assert.deepEqual(judged.gpus.map(({ verdict }) => verdict), [
    "isolated",
    "isolated",
    "violated",
    "isolated",
  ]);
});

test("judgeByRules() lets the first rule decide that is for a process", () => {
  const rules = `[[rule]]\nuser = "alice"\nunit = "t.service"\ngpus = "any"\n${ALICE_ON_0}`;
  const unit = { unit: "t.service", cgroup: "/system.slice/t.service" };
  const judged = judgeCase({ rules, machine: four(on(100, [3], { owner: unit }), on(101, [3])) });
  assert.deepEqual(broken(judged), [[101, 3, "variable-missing", 5]]);
});

test("judgeByRules() holds those whom no rule names to the default, and tells of them where there is none", () => {
  const machine = four(on(100, [1], { user: BOB }));
  assert.deepEqual(broken(judgeCase({ rules: `${ALICE_ON_0}[default]\ngpus = "2-3"`, machine })), [
    [100, 1, "variable-missing", 4],
  ]);
  const free = judgeCase({ rules: ALICE_ON_0, machine });
  assert.equal(free.verdict, "isolated");
  assert.deepEqual(free.notes, [
    "No rule names 1 process (PID 100): without a [default] they may use any GPU",
    LOOKS,
  ]);
  assert.deepEqual(judgeCase({ rules: '[default]\ngpus = "any"', machine }).notes, [LOOKS]);
});

test("judgeByRules() finds intruders on exclusive GPUs, also while their owner runs nothing", () => {
  const rules = `${ALICE_ON_0}exclusive = true`;
  const machine = four(on(200, [0, 1], { user: BOB }));
  const judged = judgeCase({ rules, machine });
  assert.deepEqual(broken(judged), [[200, 0, "intruder", 1]]);
  assert.equal(
    judged.violations[0]?.explanation,
    "GPU 0 was to be the job's alone, and this process belongs to bob",
  );
  assert.equal(judgeCase({ rules: ALICE_ON_0, machine }).verdict, "isolated");
});

test("judgeByRules() leaves a rank alone that has a context on another rank's GPU of the same rule", () => {
  const rank = on(101, [0], { environment: { LOCAL_RANK: "1" }, mib: 500 });
  const main = on(101, [1], { environment: { LOCAL_RANK: "1" }, mib: 9000 });
  const machine = four(rank, main);
  assert.equal(judgeCase({ rules: '[[rule]]\nuser = "alice"\ngpus = "0-1"', machine }).verdict, "isolated");
});

test("judgeByRules() proves nothing of a process whose owner could not be read", () => {
  const rules = '[[rule]]\nunit = "t.service"\ngpus = 0\n[default]\ngpus = "any"';
  const judged = judgeCase({ rules, machine: four(on(100, [3], { hides: ["owner"] })) });
  assert.equal(judged.verdict, "unproven");
  assert.deepEqual(judged.problems, [{
    subject: "PID 100",
    reason: absent("no-permission"),
    message: "Whether PID 100 is one that the rule in line 1 is for is not known: no permission",
  }]);
  assert.deepEqual(judged.rules?.map(({ verdict }) => verdict), ["unproven", "unproven"]);
});

test("judgeByRules() calls nobody an intruder who may be the GPU's own", () => {
  const rules = '[[rule]]\nunit = "t.service"\ngpus = 0\nexclusive = true';
  const judged = judgeCase({ rules, machine: four(on(100, [0], { hides: ["owner"] })) });
  assert.deepEqual([judged.verdict, judged.violations], ["unproven", []]);
});

test("judgeByRules() proves nothing of a pid that is gone, or that several processes had", () => {
  const dead = { ...four(), dead: [{ pid: 100, on: [2], mib: 300 }] };
  const gone = judgeCase({ rules: ALICE_ON_0, machine: dead });
  assert.deepEqual([gone.verdict, gone.problems.map(({ message }) => message)], [
    "unproven",
    ["GPU 2: PID 100 has a context, and whose it is could not be told"],
  ]);
  const reused = judgeCase({ rules: ALICE_ON_0, machine: four(on(100, [0])), reused: [100] });
  assert.equal(reused.verdict, "unproven");
});

test("judgeByRules() leaves parts of the machine alone unless a rule names them", () => {
  const server = on(50, [0, 1, 2, 3], {
    user: ROOT,
    program: "/usr/bin/nvidia-cuda-mps-server",
    owner: { cgroup: "/system.slice/mps.service", unit: "mps.service" },
  });
  const none = '[default]\ngpus = "none"';
  const spared = judgeCase({ rules: none, machine: four(server) });
  assert.deepEqual([spared.verdict, spared.notes[0]], [
    "isolated",
    "PID 50 (nvidia-cuda-mps) runs /usr/bin/nvidia-cuda-mps-server: a part of the machine that no rule names may " +
    "be on every GPU",
  ]);
  const named = judgeCase({
    rules: `[[rule]]\nunit = "mps.service"\ngpus = 0\n${none}`,
    machine: four(server),
  });
  assert.equal(named.violations.length, 3);
  const owner = { container: { id: "c", runtime: "docker", isMonitor: false } as const };
  const inContainer = judgeCase({ rules: none, machine: four({ ...server, owner }) });
  assert.equal(inContainer.violations.length, 4);
  const unread = judgeCase({ rules: none, machine: four({ ...server, hides: ["executable"] }) });
  assert.deepEqual([unread.verdict, unread.problems.map(({ message }) => message)], [
    "unproven",
    ["Whether PID 50 is a part of the machine is not known: no permission (its program)"],
  ]);
  const ofAlice = judgeCase({ rules: none, machine: four({ ...server, user: ALICE }) });
  assert.equal(ofAlice.violations.length, 4);
});

test("judgeByRules() holds a Slurm job to what it was given, and proves nothing where that is not known", () => {
  const rules = '[[rule]]\nslurm-job = "*"\ngpus = "given"';
  const machine = four(on(100, [0, 1], { owner: { slurmJob: "7" } }));
  const given = judgeCase({
    rules,
    machine,
    given: { isKnown: true, devices: [{ gpu: uuidOf(1) }], source: 'SLURM_JOB_GPUS="1" of its processes' },
  });
  assert.deepEqual(broken(given), [[100, 0, "variable-missing", 1]]);
  assert.equal(
    given.notes[0],
    'What Slurm job 7 was given is taken from SLURM_JOB_GPUS="1" of its processes',
  );
  const open = judgeCase({ rules, machine });
  assert.deepEqual([open.verdict, open.problems.map(({ message }) => message)], [
    "unproven",
    ["What Slurm job 7 was given is not known: nobody said so"],
  ]);
});

test("judgeByRules() takes memory that came up where no process is listed for a suspicion, never for a pass", () => {
  const hidden = { list: "hidden", usedMib: 100 } as const;
  const judged = judgeCase({
    rules: '[default]\ngpus = "any"',
    machine: { gpus: [hidden], processes: [] },
    later: { gpus: [{ ...hidden, usedMib: 900 }], processes: [] },
  });
  assert.deepEqual([judged.verdict, judged.suspicions], ["unproven", [{
    gpu: uuidOf(0),
    index: 0,
    growthBytes: bytes(800 * MIB),
    message: "GPU 0 had up to 800 MiB more in use than in the first look, and the driver does not say whose",
  }]]);
});

test("judgeByRules() judges who came up after the first look too", () => {
  const judged = judgeCase({ rules: ALICE_ON_0, machine: four(), later: four(on(100, [2])) });
  assert.deepEqual(broken(judged), [[100, 2, "variable-missing", 1]]);
  assert.equal(judged.longestGap, milliseconds(100));
});

test("judgeByRules() passes over contexts up to the threshold", () => {
  const machine = four(on(100, [2]));
  assert.equal(judgeCase({ rules: ALICE_ON_0, machine, thresholdMib: 520 }).verdict, "isolated");
  assert.equal(judgeCase({ rules: ALICE_ON_0, machine, thresholdMib: 519 }).verdict, "violated");
});

test("judgeByRules() judges a GPU that came up later, and is never sure of what was there before", () => {
  const rules = `${ALICE_ON_0}[default]\ngpus = "none"`;
  const before = { gpus: [{}, {}], processes: [on(100, [0])] };
  const idle = judgeCase({
    rules,
    machine: before,
    later: { gpus: [{}, {}, {}], processes: [on(100, [0])] },
  });
  assert.equal(idle.verdict, "unproven");
  assert.deepEqual(idle.problems.map(({ message }) => message), ["GPU 2: it was missing in 1 of 2 looks"]);

  const used = judgeCase({
    rules,
    machine: before,
    later: { gpus: [{}, {}, {}], processes: [on(100, [0, 2])] },
  });
  assert.deepEqual(broken(used), [[100, 2, "variable-missing", 1]]);
});
