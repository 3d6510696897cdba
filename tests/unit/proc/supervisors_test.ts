import { test } from "node:test";
import assert from "node:assert/strict";
import { pid } from "../../../lib/core/ids.ts";
import { known } from "../../../lib/core/reading.ts";
import type { Owner } from "../../../lib/model/process.ts";
import { hasSupervisor, listSupervisors } from "../../../lib/proc/supervisors.ts";
import { procTree } from "../../support/proc_tree.ts";

test("hasSupervisor() is true of a Slurm job and of a container's payload, not of its monitor", () => {
  const of = (owner: Partial<Owner>) =>
    hasSupervisor({ owner: known({ cgroup: "/", isCgroupDeleted: false, ...owner }) });
  const container = { id: "c", runtime: "podman", isMonitor: false } as const;
  assert.deepEqual(
    [
      of({ slurmJob: "7" }),
      of({ container }),
      of({ container: { ...container, isMonitor: true } }),
      of({ unit: "x" }),
    ],
    [true, true, false, false],
  );
});

test("hasSupervisor() is true of a process whose variables name a Slurm job", () => {
  const owner = known({ cgroup: "/", isCgroupDeleted: false });

  assert.equal(hasSupervisor({ owner, environment: known(new Map([["SLURM_JOB_ID", "77"]])) }), true);
  assert.equal(hasSupervisor({ owner, environment: known(new Map()) }), false);
});

test("listSupervisors() finds them by the beginning of their names", () => {
  using tree = procTree([
    { pid: 10, comm: "slurmstepd" },
    { pid: 11, comm: "containerd-shim" },
    { pid: 12, comm: "conmonrs" },
    { pid: 13, comm: "my conmon" },
    { pid: 14, comm: "python" },
  ]);
  assert.deepEqual(listSupervisors(tree.path), [pid(10), pid(11), pid(12)]);
});
