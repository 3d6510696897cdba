import assert from "node:assert/strict";
import { test } from "node:test";
import type { EndingPolicy } from "../../../lib/analysis/ending.ts";
import { containerId, dockerOwner, slurmOwner, SPAWNED } from "../../fixtures/machines/parts.ts";
import type { ProcessSpec } from "../../support/machine.ts";
import { DEFAULT_POLICY, fatesOn } from "../../support/machine_case.ts";

const ID = containerId("7");
const SLURM: ProcessSpec = { pid: 61, touch: "context", argv: SPAWNED, owner: slurmOwner("77") };
const DOCKER: ProcessSpec = { pid: 62, touch: "context", argv: SPAWNED, owner: dockerOwner(ID) };
const NAME = "web-server-blue";
const LXC: ProcessSpec = {
  pid: 63,
  touch: "context",
  argv: SPAWNED,
  owner: { cgroup: `/lxc.payload.${NAME}`, container: { id: NAME, runtime: "lxc", isMonitor: false } },
};
const BESIDE_LXC: ProcessSpec = {
  ...LXC,
  pid: 64,
  owner: { cgroup: `/lxc.monitor.${NAME}`, container: { id: NAME, runtime: "lxc", isMonitor: true } },
};

/** Pids of the workers without their program that are ended when something is named. */
function endedWhen(named: Partial<EndingPolicy>): number[] {
  const spec = { processes: [{ ...SLURM, pid: 60, owner: {} }, SLURM, DOCKER, LXC, BESIDE_LXC] };
  const fates = fatesOn({ spec }, { ...DEFAULT_POLICY, ...named });
  return Object.entries(fates).filter(([, { ended }]) => ended).map(([pid]) => Number(pid));
}

test("planEnding() ends none in jobs and containers of which nobody knows whether they run", () => {
  assert.deepEqual(endedWhen({}), [60, 64]);
});

test("planEnding() ends those of the container that is named by its id or its first twelve digits", () => {
  assert.deepEqual(endedWhen({ container: ID }), [62]);
  assert.deepEqual(endedWhen({ container: ID.slice(0, 12) }), [62]);
});

test("planEnding() takes fewer digits of an id for nobody's: they may be several containers'", () => {
  assert.deepEqual(endedWhen({ container: "7777" }), []);
});

test("planEnding() takes a container's name as a whole, and for its payload alone", () => {
  assert.deepEqual(endedWhen({ container: NAME }), [63]);
  assert.deepEqual(endedWhen({ container: NAME.slice(0, 12) }), []);
});

test("planEnding() takes an empty name for nobody's", () => {
  assert.deepEqual(endedWhen({ container: "" }), []);
  assert.deepEqual(endedWhen({ cgroup: "" }), []);
  assert.deepEqual(endedWhen({ slurmJob: "" }), []);
  assert.deepEqual(endedWhen({ unit: "" }), []);
});

test("planEnding() ends those of the Slurm job that is named", () => {
  assert.deepEqual(endedWhen({ slurmJob: "77" }), [61]);
  assert.deepEqual(endedWhen({ slurmJob: "7" }), []);
});

test("planEnding() ends those of a cgroup and below", () => {
  assert.deepEqual(endedWhen({ cgroup: "/lxc.monitor.web-server-blue" }), [64]);
  assert.deepEqual(endedWhen({ cgroup: "/user.slice" }), [60]);
  assert.deepEqual(endedWhen({ cgroup: "/user.sl" }), []);
});
