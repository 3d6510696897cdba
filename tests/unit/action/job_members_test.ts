import assert from "node:assert/strict";
import { test } from "node:test";
import { JobMembers } from "../../../lib/action/job_members.ts";
import { pid } from "../../../lib/core/ids.ts";
import { known } from "../../../lib/core/reading.ts";
import { OWN_PID } from "../../support/job_world.ts";
import { type MachineSpec, observe, type ProcessSpec, reportOf } from "../../support/machine.ts";

/** Members that look at a machine which each look may replace, and count what they read of it. */
function follow(before: readonly number[] = []) {
  let machine: MachineSpec = { processes: [] };
  const reads = { stats: 0, maps: 0 };
  const members = new JobMembers(pid(OWN_PID), before.map(pid), {
    processes: {
      findProcess(id) {
        reads.stats++;
        const seen = observe(machine);
        return seen.scan.ok ? seen.scan.value.processes.get(pid(id)) : undefined;
      },
    },
    details: {
      readArguments: (id) => known(["job", String(id)]),
      readMappedFiles() {
        reads.maps++;
        return known(["/site-packages/torch/lib/libtorch_cuda.so"]);
      },
    },
  });
  const look = (now: MachineSpec) => {
    machine = now;
    members.place(reportOf(now));
  };
  return { members, reads, look };
}

const context = (id: number, parent: number, more: Partial<ProcessSpec> = {}): ProcessSpec => ({
  pid: id,
  parent,
  touch: "context",
  ...more,
});

test("JobMembers knows the job's processes by their ancestors, however deep", () => {
  const { members, look } = follow();
  look({
    processes: [
      { pid: 10, parent: OWN_PID },
      { pid: 11, parent: 10 },
      context(12, 11),
      context(13, OWN_PID),
      context(14, 1),
    ],
  });

  assert.deepEqual([12, 13, 14].map((id) => members.isJobs(pid(id))), [true, true, false]);
  assert.deepEqual(members.members.get(pid(12)), {
    pid: 12,
    startTicks: 120,
    name: "python3.12",
    argv: known(["job", "12"]),
  });
});

test("JobMembers remembers a process after its death", () => {
  const { members, look } = follow();
  look({ processes: [context(12, OWN_PID)] });
  look({ processes: [], dead: [{ pid: 12, mib: 520 }] });

  assert.equal(members.isJobs(pid(12)), true);
});

test("JobMembers reads nothing about a pid that it has seen in the last look", () => {
  const { reads, look } = follow([7]);
  const machine = { processes: [context(7, 1), context(12, OWN_PID)] };
  look(machine);
  const first = reads.stats;
  look(machine);
  look(machine);

  assert.deepEqual([first, reads.stats], [2, 2]);
});

test("JobMembers looks again at a pid that was away: it may be another process by now", () => {
  const { members, look } = follow();
  look({ processes: [context(12, OWN_PID)] });
  look({ processes: [] });
  look({ processes: [context(12, 1, { startTicks: 999 })] });

  assert.equal(members.isJobs(pid(12)), false);
});

test("JobMembers cannot place a pid that was dead before it was looked up, unless it was there before the job", () => {
  const { members, look } = follow([7]);
  look({ processes: [], dead: [{ pid: 7, mib: 520 }, { pid: 12, mib: 520 }] });

  assert.deepEqual([...members.unplaced], [12]);
  assert.deepEqual([members.isJobs(pid(7)), members.isJobs(pid(12))], [false, true]);
});

test("JobMembers takes a pid that was somebody else's for somebody else's after its death too", () => {
  const { members, look } = follow([7]);
  look({ processes: [] });
  look({ processes: [], dead: [{ pid: 7, mib: 520 }] });

  assert.equal(members.isJobs(pid(7)), false);
});

test("JobMembers reads a process's libraries once, and only when it has been there for a while", () => {
  const { members, reads, look } = follow();
  const machine = { processes: [context(12, OWN_PID)] };
  for (let looks = 0; looks < 19; looks++) look(machine);
  assert.equal(reads.maps, 0);
  for (let looks = 0; looks < 9; looks++) look(machine);

  assert.equal(reads.maps, 1);
  assert.equal(members.frameworks.get(pid(12)), "PyTorch");
});

test("JobMembers leaves open whose a process is that is hidden, or that came back under a pid and was gone again", () => {
  const hidden = new JobMembers(pid(OWN_PID), [], {
    processes: {
      findProcess() {
        throw Object.assign(new Error("EPERM: operation not permitted, open"), { code: "EPERM" });
      },
    },
    details: { readArguments: () => known([]), readMappedFiles: () => known([]) },
  });
  const report = reportOf({ processes: [context(100, OWN_PID)] });
  hidden.place(report);
  assert.deepEqual([...hidden.unplaced], [100]);

  const { members, look } = follow();
  look({ processes: [context(100, 1)] });
  look({ processes: [] });
  assert.deepEqual([...members.unplaced], []);
  members.place(report);
  assert.deepEqual([...members.unplaced], [100]);
});
