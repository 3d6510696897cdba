import assert from "node:assert/strict";
import { test } from "node:test";
import { type EndingPolicy, planEnding } from "../../../lib/analysis/ending.ts";
import { pid } from "../../../lib/core/ids.ts";
import type { HolderClass } from "../../../lib/model/snapshot.ts";
import { containerId, dockerOwner, KERNEL, shim, SPAWNED } from "../../fixtures/machines/parts.ts";
import { type Hidden, type MachineSpec, type ProcessSpec, timedLook } from "../../support/machine.ts";
import { DEFAULT_POLICY, ended, fatesOn, kept } from "../../support/machine_case.ts";

const ID = containerId("7");
const orphan: ProcessSpec = { pid: 900, touch: "context", argv: SPAWNED };

function whyKept(spec: MachineSpec, changes: Partial<EndingPolicy> = {}): string | undefined {
  const look = timedLook(spec);
  return planEnding(look, look, { ...DEFAULT_POLICY, ...changes }).kept[0]?.why;
}

/** A live container with these processes, when it is named. */
function insideNamed(...processes: readonly ProcessSpec[]) {
  const inside = processes.map((process) => ({ owner: dockerOwner(ID), ...process }));
  const spec = { processes: [shim(40, ID), ...inside], supervisors: [40] };
  return fatesOn({ spec }, { ...DEFAULT_POLICY, container: ID });
}

test("planEnding() spares the first process of a named container, even one that was a worker elsewhere", () => {
  const environment = { OMPI_COMM_WORLD_RANK: "0" };

  assert.deepEqual(
    insideNamed(
      { pid: 50, parent: 40, touch: "context", environment, namespacePids: [50, 1] },
      { pid: 51, parent: 50, touch: "context", state: "S", namespacePids: [51, 7], environment },
    ),
    { 50: kept("live"), 51: kept("live") },
  );
  const zombie: ProcessSpec = { pid: 50, parent: 40, touch: "context", namespacePids: [50, 1], state: "Z" };
  assert.deepEqual(insideNamed({ ...zombie, threadStates: ["Z", "S"] }), { 50: kept("zombie-leader") });
});

test("planEnding() spares the payload of a container's init in a named container", () => {
  assert.deepEqual(
    insideNamed(
      { pid: 50, parent: 40, program: "/sbin/docker-init", namespacePids: [50, 1] },
      {
        pid: 51,
        parent: 50,
        touch: "context",
        namespacePids: [51, 7],
        environment: { OMPI_COMM_WORLD_RANK: "0" },
      },
    ),
    { 51: kept("detached") },
  );
});

test("planEnding() counts a kernel's server as its container counts", () => {
  const server: ProcessSpec = {
    pid: 950,
    parent: 50,
    argv: ["python", "jupyter-lab"],
    namespacePids: [950, 7],
  };
  const kernel: ProcessSpec = {
    pid: 960,
    parent: 950,
    touch: "context",
    argv: KERNEL,
    environment: { JPY_PARENT_PID: "7" },
    namespacePids: [960, 20],
  };
  const init: ProcessSpec = { pid: 50, parent: 40, program: "/usr/bin/tini", namespacePids: [50, 1] };

  assert.deepEqual(insideNamed(init, server, kernel), { 960: kept("live") });
  assert.deepEqual(insideNamed(init, { ...kernel, parent: 50 }), { 960: ended("orphan") });
});

test("planEnding() spares what was started in a named container from outside", () => {
  const environment = { JPY_PARENT_PID: "7" };

  assert.deepEqual(
    insideNamed(
      { pid: 960, parent: 40, touch: "context", argv: KERNEL, environment, namespacePids: [960, 20] },
      { pid: 961, parent: 40, touch: "context", argv: SPAWNED, namespacePids: [961, 21] },
    ),
    { 960: kept("live"), 961: kept("live") },
  );
});

test("planEnding() keeps classes that may not be ended although they were asked for", () => {
  const classes = new Set<HolderClass>(["service", "live", "unknown", "monitor", "stuck"]);
  const service: ProcessSpec = { pid: 50, touch: "context", program: "/usr/bin/nvidia-persistenced" };

  assert.equal(whyKept({ processes: [service] }, { classes }), "runs /usr/bin/nvidia-persistenced");
});

test("planEnding() keeps what --protect names by its program, and what has no command line to compare", () => {
  const titled: ProcessSpec = { ...orphan, program: "/opt/team/python3.12" };
  assert.equal(whyKept({ processes: [titled] }, { protect: ["/opt/team"] }), 'is protected by "/opt/team"');
  const zombie: ProcessSpec = { pid: 50, touch: "context", argv: [], state: "Z", threadStates: ["Z", "S"] };
  assert.equal(
    whyKept({ processes: [zombie] }, { protect: ["team"] }),
    "its command line cannot be checked against --protect",
  );
});

test("planEnding() ends a client of MPS beside another only when it is named", () => {
  const spec: MachineSpec = {
    processes: [{ ...orphan, kind: "mps-client" }, { ...orphan, pid: 901, kind: "mps-client" }],
  };

  assert.equal(whyKept(spec), "is a client of MPS beside PID 901, whose work ending it may disturb");
  const { acts } = planEnding(timedLook(spec), timedLook(spec), {
    ...DEFAULT_POLICY,
    pids: new Set([pid(900)]),
  });
  assert.deepEqual(acts.map(({ identity }) => identity.pid), [900]);
});

test("planEnding() keeps what cannot be read whole, and says what is missing", () => {
  const hiding = (...hides: readonly Hidden[]) => {
    const left: ProcessSpec = {
      pid: 50,
      touch: "context",
      owner: { cgroup: "/user.slice/job", isCgroupDeleted: true },
      hides,
    };
    return whyKept({ processes: [left] });
  };

  assert.equal(hiding(), undefined);
  assert.equal(hiding("executable"), "which program it runs cannot be read");
  assert.equal(hiding("threads"), "what its threads do cannot be read");
  assert.equal(hiding("depth", "namespace"), "its PID namespace cannot be read");
  assert.equal(hiding("mappings"), "its use of the driver cannot be read");
  assert.equal(
    whyKept({ processes: [{ ...orphan, hides: ["owner"] }] }),
    "which job it belongs to cannot be read",
  );
});

test("planEnding() says of a job what is not known about it", () => {
  const spec = { processes: [{ ...orphan, owner: dockerOwner(ID) }] };

  assert.equal(whyKept(spec), "belongs to container 777777777777, and whether that has ended is not known");
});

test("planEnding() sends to sudo only for what root would end, and says whose the rest is", () => {
  const user = { uid: 1001, name: "bob" };
  const others = (process: ProcessSpec, changes: Partial<EndingPolicy> = {}) =>
    whyKept({ processes: [{ ...process, user }], reader: { isRoot: false } }, changes);

  assert.equal(others(orphan), "belongs to bob: run with sudo");
  assert.equal(others(orphan, { classes: new Set(["stopped"]) }), "was not asked for (--class)");
  assert.equal(others({ pid: 50, touch: "context", ignoresHangup: true }), "belongs to bob");
});

test("planEnding() ends nothing from inside a PID namespace", () => {
  assert.equal(
    whyKept({ reader: { isInitial: false }, processes: [orphan] }),
    "is seen from inside a PID namespace, which shows too little to judge",
  );
});
