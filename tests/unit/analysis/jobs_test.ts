import assert from "node:assert/strict";
import { test } from "node:test";
import { attribute } from "../../../lib/analysis/attribute.ts";
import type { Owner } from "../../../lib/model/process.ts";
import { type MachineSpec, observe } from "../../support/machine.ts";

const ID = "701c443334f086aa29e06aba3e42dc979a9605f794b0b19af1f8304bbe5abe7a";
const inJob: Partial<Owner> = {
  cgroup: "/system.slice/slurmstepd.scope/job_77/step_0",
  slurmJob: "77",
  slurmStep: "0",
};
const inContainer: Partial<Owner> = {
  cgroup: `/system.slice/docker-${ID}.scope`,
  unit: `docker-${ID}.scope`,
  container: { id: ID, runtime: "docker", isMonitor: false },
};

function classOf(pid: number, spec: MachineSpec): string | undefined {
  return attribute(observe(spec)).holders.find((holder) => holder.pid === pid)?.class;
}

test("attribute() calls a process of a Slurm job a leftover when no slurmstepd of the job lives", () => {
  const processes = [{ pid: 60, touch: "context", owner: inJob } as const];

  assert.equal(classOf(60, { processes, supervisors: [] }), "job-leftover");
});

test("attribute() does not call a Slurm job ended when nobody looked for its slurmstepd", () => {
  assert.equal(classOf(60, { processes: [{ pid: 60, touch: "context", owner: inJob }] }), "detached");
});

test("attribute() lets a detached process of a Slurm job live while its slurmstepd lives", () => {
  const steward = { pid: 40, program: "/usr/sbin/slurmstepd", argv: ["slurmstepd:", "[77.batch]"] };
  const processes = [steward, { pid: 60, parent: 40, touch: "context", owner: inJob } as const];

  assert.equal(classOf(60, { processes, supervisors: [40] }), "live");
});

test("attribute() does not take another job's slurmstepd for the owner: job 7 is not job 77", () => {
  const steward = { pid: 40, program: "/usr/sbin/slurmstepd", argv: ["slurmstepd:", "[7.batch]"] };
  const processes = [steward, { pid: 60, touch: "context", owner: inJob } as const];

  assert.equal(classOf(60, { processes, supervisors: [40] }), "job-leftover");
});

test("attribute() calls a process of a container a leftover when its first process belongs to PID 1", () => {
  const processes = [{ pid: 60, touch: "context", owner: inContainer, namespacePids: [60, 7] } as const];

  assert.equal(classOf(60, { processes, supervisors: [] }), "job-leftover");
});

test("attribute() calls a process of a supervised container foreign: its namespace is not ours to judge", () => {
  const shim = {
    pid: 40,
    program: "/usr/bin/containerd-shim-runc-v2",
    argv: ["containerd-shim-runc-v2", "-id", ID],
  };
  const processes = [
    shim,
    { pid: 60, parent: 40, touch: "context", owner: inContainer, namespacePids: [60, 7] } as const,
  ];

  assert.equal(classOf(60, { processes, supervisors: [40] }), "foreign");
});

test("attribute() calls a process a leftover when its cgroup has been removed", () => {
  const owner = { cgroup: "/user.slice/job (deleted)", isCgroupDeleted: true };

  assert.equal(classOf(60, { processes: [{ pid: 60, touch: "context", owner }] }), "job-leftover");
});
