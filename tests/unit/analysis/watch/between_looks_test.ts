import assert from "node:assert/strict";
import { test } from "node:test";
import { attribute } from "../../../../lib/analysis/attribute.ts";
import { attributeBetween, isOutdated, listedPids } from "../../../../lib/analysis/watch/between_looks.ts";
import type { Pid } from "../../../../lib/core/ids.ts";
import { known } from "../../../../lib/core/reading.ts";
import type { ProcStat } from "../../../../lib/model/process.ts";
import { type MachineSpec, observe, type ProcessSpec, reportOf, uuidOf } from "../../../support/machine.ts";

const WORKER: ProcessSpec = { pid: 50, touch: "context" };

function scanOf(spec: MachineSpec) {
  const { scan } = observe(spec);
  assert.ok(scan.ok);
  return scan.value;
}

/** Finds the processes of a machine as they are now. */
function finder(...processes: readonly ProcessSpec[]): (pid: Pid) => ProcStat | undefined {
  const scan = scanOf({ processes });
  return (pid) => scan.processes.get(pid);
}

const listed = listedPids(reportOf({ processes: [WORKER] }));

test("isOutdated() tells when somebody who is listed has begun, ended, or is another one", () => {
  const before = scanOf({ processes: [WORKER] });
  assert.equal(isOutdated(before, listed, finder(WORKER)), false);
  assert.equal(isOutdated(before, listed, finder()), true);
  assert.equal(isOutdated(before, listed, finder({ ...WORKER, state: "Z", threadStates: ["Z"] })), true);
  assert.equal(isOutdated(before, listed, finder({ ...WORKER, startTicks: 9999 })), true);
  assert.equal(isOutdated(scanOf({ processes: [] }), listed, finder(WORKER)), true);
});

test("isOutdated() lets the dead rest who were dead at the look, and a leader that is dead before its threads", () => {
  assert.equal(isOutdated(scanOf({ processes: [] }), listed, finder()), false);
  const leader: ProcessSpec = { ...WORKER, state: "Z", threadStates: ["Z", "S"] };
  assert.equal(isOutdated(scanOf({ processes: [leader] }), listed, finder(leader)), false);
});

test("attributeBetween() calls nobody dead who has only just come, and judges them later", () => {
  const report = reportOf({ processes: [WORKER] });
  const { ghosts, holders, problems } = attributeBetween(observe({ processes: [] }), report, finder(WORKER));
  const [holder] = holders;
  assert.deepEqual([ghosts, holders.length, problems.map(({ message }) => message)], [
    [],
    1,
    ["Not every process was looked at"],
  ]);
  assert.deepEqual([holder?.pid, holder?.class, holder?.argv, holder?.devices], [
    50,
    "unknown",
    { ok: false, why: "not-asked", detail: "it came after the last look at every process" },
    [{
      gpu: uuidOf(0),
      contextBytes: known(520 * 1024 ** 2),
      isOpen: known(false),
      isMapped: known(false),
    }],
  ]);
});

test("attributeBetween() gives a newcomer nothing of whoever had its pid", () => {
  const before = observe({ processes: [{ ...WORKER, startTicks: 1, program: "/usr/bin/mine" }] });
  const report = reportOf({ processes: [WORKER] });
  const { holders } = attributeBetween(before, report, finder({ ...WORKER, startTicks: 2 }));
  assert.deepEqual(holders.map((holder) => [holder.startTicks, holder.class]), [[known(2), "unknown"]]);
});

test("attributeBetween() is the snapshot of the look where nobody has come", () => {
  const before = observe({ processes: [WORKER] });
  const report = reportOf({ processes: [WORKER] });
  assert.deepEqual(attributeBetween(before, report, finder(WORKER)), attribute(before));
});
