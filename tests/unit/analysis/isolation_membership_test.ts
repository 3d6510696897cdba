import assert from "node:assert/strict";
import { test } from "node:test";
import { judgeMembership, type Subject } from "../../../lib/analysis/isolation_membership.ts";
import type { OwnerNames } from "../../../lib/analysis/selection.ts";
import { pid } from "../../../lib/core/ids.ts";
import type { Process } from "../../../lib/model/process.ts";
import { observe, type ProcessSpec } from "../../support/machine.ts";
import { ALICE, BOB, ROOT } from "./rules_case.ts";

/** Whose a process is among some others. Start ticks are ten times the pid. */
function judge(id: number, subject: Subject, specs: readonly ProcessSpec[], reused: readonly number[] = []) {
  const { scan } = observe({ processes: specs });
  const processes = scan.ok ? scan.value.processes : new Map();
  return judgeMembership(pid(id), subject, {
    find: (each) => processes.get(each),
    isReused: (each) => reused.includes(each),
  });
}

/** A process of a machine as it is there unless a test says otherwise. */
function rootOf(id: number): Process {
  const { scan } = observe({ processes: [{ pid: id }] });
  const found = scan.ok ? scan.value.processes.get(pid(id)) : undefined;
  if (found === undefined) throw new Error(`Cannot make process ${id}`);
  return found;
}

const root = (...pids: readonly number[]): Subject => ({
  kind: "processes",
  roots: new Map(pids.map((id) => [pid(id), rootOf(id)])),
});
const owner = (names: OwnerNames): Subject => ({ kind: "owner", names });

test("judgeMembership() counts what a named process has started, however far down", () => {
  const shell = { pid: 40, comm: "bash" };
  const specs = [shell, { pid: 50 }, { pid: 60, parent: 50 }, { pid: 70, parent: 60 }, {
    pid: 80,
    parent: 40,
  }];
  assert.deepEqual([50, 60, 70, 80].map((id) => judge(id, root(50), specs)), ["job", "job", "job", "other"]);
});

test("judgeMembership() counts an orphan of its session, and nobody of a session that it merely joined", () => {
  const specs = [{ pid: 50, session: 50 }, { pid: 70, parent: 1, session: 50 }, { pid: 40 }, {
    pid: 80,
    parent: 40,
    session: 40,
  }];
  assert.equal(judge(70, root(50), specs), "job");
  assert.equal(judge(80, root(50), specs), "other");
});

test("judgeMembership() takes another process under a root's pid for nobody of the job", () => {
  assert.equal(
    judge(50, root(50), [{ pid: 40 }, { pid: 50, startTicks: 9999, parent: 40, session: 40 }]),
    "other",
  );
});

test("judgeMembership() leaves open whose a process is that was not seen, has a lost ancestor or a used pid", () => {
  assert.equal(judge(70, root(50), [{ pid: 50 }]), "unknown");
  assert.equal(judge(70, root(50), [{ pid: 50 }, { pid: 70, parent: 60 }]), "unknown");
  assert.equal(judge(50, root(50), [{ pid: 50 }], [50]), "unknown");
});

test("judgeMembership() knows a Slurm job by its cgroup, and what has left it by descent", () => {
  const specs = [
    { pid: 50, owner: { slurmJob: "7" } },
    { pid: 60, parent: 50, owner: {} },
    { pid: 70, owner: { slurmJob: "77" } },
  ];
  assert.deepEqual([50, 60, 70].map((id) => judge(id, owner({ slurmJob: "7" }), specs)), [
    "job",
    "job",
    "other",
  ]);
});

test("judgeMembership() does not follow descent for users, units and cgroups", () => {
  const unit = { unit: "ssh.service", cgroup: "/system.slice/ssh.service" };
  const specs = [
    { pid: 50, user: ROOT, owner: unit },
    { pid: 60, parent: 50, user: ALICE, owner: {} },
    { pid: 70, parent: 60, user: BOB, owner: {} },
  ];
  const of = (names: OwnerNames) => [50, 60, 70].map((id) => judge(id, owner(names), specs));
  assert.deepEqual(of({ unit: "ssh.service" }), ["job", "other", "other"]);
  assert.deepEqual(of({ cgroup: "/system.slice" }), ["job", "other", "other"]);
  assert.deepEqual(of({ users: new Set(["alice"]) }), ["other", "job", "other"]);
});

test("judgeMembership() leaves open whose a process is whose owner could not be read", () => {
  const hidden = { pid: 50, hides: ["owner", "identity"] } as const;
  for (const names of [{ slurmJob: "7" }, { unit: "a.service" }, { users: new Set(["alice"]) }]) {
    assert.equal(judge(50, owner(names), [hidden]), "unknown");
  }
});

test("judgeMembership() leaves open whose an orphan is that a named process may have started, and who comes from it", () => {
  const of = (orphan: Omit<ProcessSpec, "pid">, ...others: readonly ProcessSpec[]) =>
    judge(70, root(50), [{ pid: 50 }, { pid: 60, ...orphan }, { pid: 70, parent: 60 }, ...others]);
  const shell = { pid: 40, comm: "bash" };

  assert.equal(of({}), "unknown");
  assert.equal(of({ parent: 40 }, { pid: 40, comm: "systemd" }), "unknown");
  // A child of the shell is in its session or leads one; only an orphan is in that of somebody else who is gone.
  assert.equal(of({ parent: 40, session: 55 }, shell), "unknown");
  assert.equal(of({ parent: 40, session: 40 }, shell), "other");
  assert.equal(of({ parent: 40, session: 60 }, shell), "other");
});

test("judgeMembership() takes no orphan for a named process's of an earlier time, another user or a control group", () => {
  const of = (orphan: Omit<ProcessSpec, "pid">) => judge(60, root(50), [{ pid: 50 }, { pid: 60, ...orphan }]);
  assert.equal(of({ startTicks: 499 }), "other");
  assert.equal(of({ startTicks: 500 }), "unknown");
  assert.equal(of({ user: BOB }), "other");
  assert.equal(of({ user: ROOT }), "unknown");
  assert.equal(of({ owner: { cgroup: "/system.slice/cron.service" } }), "other");
  assert.equal(of({ hides: ["owner", "identity"] }), "unknown");
});
