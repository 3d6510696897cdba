import assert from "node:assert/strict";
import { test } from "node:test";
import { judgeIsolation } from "../../../lib/analysis/isolation.ts";
import { pid } from "../../../lib/core/ids.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import type { Process } from "../../../lib/model/process.ts";
import { observe, type ProcessSpec } from "../../support/machine.ts";
import { type CaseSpec, isolationCase, mib } from "./isolation_case.ts";
import { B, MIG_A, MIG_B, migGpu } from "./visible_devices_machine.ts";

const NEIGHBOUR: ProcessSpec = {
  pid: 99,
  comm: "evil\u001b[2J",
  user: { uid: 1001, name: "bob" },
  owner: { cgroup: "/x", slurmJob: "7" },
};

function processOf(spec: ProcessSpec): Process | undefined {
  const { scan } = observe({ processes: [spec] });
  return scan.ok ? scan.value.processes.get(pid(spec.pid)) : undefined;
}

/** Somebody else beside a job that may use GPU 1. */
function judge(
  { isExclusive = true, other = NEIGHBOUR, ...more }: Partial<CaseSpec> & {
    readonly isExclusive?: boolean;
    readonly other?: ProcessSpec;
  } = {},
) {
  const look = [{}, { contexts: [{ pid: 11, mib: 774 }, { pid: 99, mib: 300 }] }];
  const input = isolationCase({ looks: [look], processes: [{ pid: 11 }], others: [99], ...more });
  const process = processOf(other);
  return judgeIsolation({
    ...input,
    isExclusive,
    findOther: (id) => Number(id) === other.pid ? process : undefined,
  });
}

test("judgeIsolation() takes others on the job's GPUs for intruders where these were to be exclusive", () => {
  const judged = judge();
  assert.equal(judged.verdict, "violated");
  assert.deepEqual(judged.violations, [{
    gpu: B,
    index: 1,
    pid: pid(99),
    command: "evil\u001b[2J",
    contextBytes: mib(300),
    cause: "intruder",
    explanation: "GPU 1 was to be the job's alone, and this process belongs to bob, in Slurm job 7",
    fix:
      "Let a scheduler or cgroup device rules keep others away from the GPU; meanwhile ask its owner to move",
    party: {
      user: known("bob"),
      owner: known({ cgroup: "/x", isCgroupDeleted: false, slurmJob: "7" }),
    },
  }]);
});

test("judgeIsolation() only tells of others where the GPUs were not to be exclusive", () => {
  const judged = judge({ isExclusive: false });
  assert.deepEqual([judged.verdict, judged.notes[0]], [
    "isolated",
    "PID 99 (evil\\u{1b}[2J) of bob, in Slurm job 7 had 300 MiB on GPU 1 too",
  ]);
});

test("judgeIsolation() does not care for others on GPUs that are not the job's", () => {
  const judged = judge({ looks: [[{ contexts: [{ pid: 99 }] }, { contexts: [{ pid: 11 }] }]] });
  assert.equal(judged.verdict, "isolated");
});

test("judgeIsolation() takes no part of the machine for an intruder", () => {
  const server = {
    pid: 99,
    program: "/usr/bin/nvidia-cuda-mps-server",
    user: { uid: 0, name: "root" },
    owner: { cgroup: "/system.slice/mps.service", unit: "mps.service" },
  };
  const judged = judge({ other: server });
  assert.deepEqual([judged.verdict, judged.notes[0]], [
    "isolated",
    "PID 99 (nvidia-cuda-mps) of root, in mps.service had 300 MiB on GPU 1 too; it runs " +
    "/usr/bin/nvidia-cuda-mps-server, and is no intruder",
  ]);
});

test("judgeIsolation() proves nothing of somebody who may be a part of the machine", () => {
  const other = {
    pid: 99,
    comm: "Xorg",
    program: "/usr/bin/Xorg",
    user: { uid: 0, name: "root" },
    owner: {},
  };
  const judged = judge({ other: { ...other, hides: ["executable"] } });
  assert.deepEqual([judged.verdict, judged.problems.map(({ message }) => message)], [
    "unproven",
    ["GPU 1: whether PID 99 is a part of the machine is not known: no permission (its program)"],
  ]);
});

test("judgeIsolation() names an intruder of whom nothing is known by the pid alone", () => {
  const [violation] = judge({ other: { pid: 98 } }).violations;
  assert.deepEqual([violation?.pid, violation?.command, violation?.party, violation?.explanation], [
    99,
    "?",
    undefined,
    "GPU 1 was to be the job's alone, and this process belongs to somebody else, who could not be looked up",
  ]);
});

test("judgeIsolation() proves nothing of an intruder's context of unknown size, and passes over a small one", () => {
  const withSize = (size: number | ReturnType<typeof absent>) => {
    const look = [{}, { contexts: [{ pid: 11, mib: 774 }, { pid: 99, mib: size }] }];
    return judge({ looks: [look], thresholdMib: 300 }).verdict;
  };
  assert.deepEqual([withSize(absent("not-reported")), withSize(300), withSize(301)], [
    "unproven",
    "isolated",
    "violated",
  ]);
});

test("judgeIsolation() leaves others alone on MIG devices that are not the job's", () => {
  const { migInstances } = migGpu(1, B, [MIG_A, MIG_B]);
  const on = (gpuInstance: number | undefined) => {
    const other = { pid: 99, mib: 300, ...gpuInstance !== undefined && { gpuInstance } };
    const gpu = {
      contexts: [{ pid: 11, mib: 774, gpuInstance: 1 }, other],
      migs: migInstances.ok ? migInstances.value : [],
    };
    return judge({ looks: [[{}, gpu]], allowed: [{ gpu: B, mig: MIG_A }] }).verdict;
  };
  assert.deepEqual([on(1), on(2), on(undefined)], ["violated", "isolated", "unproven"]);
});
