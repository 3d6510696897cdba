import assert from "node:assert/strict";
import { test } from "node:test";
import { attribute } from "../../../lib/analysis/attribute.ts";
import type { Snapshot } from "../../../lib/model/snapshot.ts";
import { type MachineSpec, observe, type ProcessSpec, uuidOf } from "../../support/machine.ts";

const sshd: ProcessSpec = { pid: 400, program: "/usr/sbin/sshd" };
const shell: ProcessSpec = { pid: 500, program: "/usr/bin/bash", parent: 400, terminal: 34_816 };
const SPAWNED = [
  "python3",
  "-c",
  "from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=5, pipe_handle=7)",
  "--multiprocessing-fork",
];

function look(spec: MachineSpec): Snapshot {
  return attribute(observe(spec));
}

function classesOf(snapshot: Snapshot): Record<number, string> {
  return Object.fromEntries(snapshot.holders.map(({ pid, class: name }) => [pid, name]));
}

test("attribute() names the child that keeps a dead parent's memory when a parent with a context was killed", () => {
  const snapshot = look({
    processes: [{ pid: 812, touch: "inherited", group: 794 }],
    dead: [{ pid: 794, mib: 2566 }],
  });

  assert.deepEqual(classesOf(snapshot), { 812: "inherited" });
  const reasons = [
    "has GPU 0 mapped and no context of its own there",
    "has the driver's descriptors and never started the driver itself: they are inherited",
    "is in the process group of PID 794",
    "lost its parent: it now belongs to PID 1 (systemd)",
  ];
  assert.deepEqual(snapshot.ghosts, [{
    pid: 794,
    gpu: uuidOf(0),
    contextBytes: { ok: true, value: 2566 * 1024 ** 2 },
    likelyHolders: [{ pid: 812, reasons }],
  }]);
  assert.deepEqual(snapshot.holders[0]?.evidence, [
    "PID 794 is dead and still listed with memory on GPU 0",
    ...reasons,
  ]);
});

test("attribute() names one holder for a ghost over two GPUs when its child has both mapped", () => {
  const snapshot = look({
    gpus: [{}, {}],
    processes: [{ pid: 2155, touch: "inherited", on: [0, 1] }],
    dead: [{ pid: 2154, on: [0, 1], mib: 1542 }],
  });

  assert.deepEqual(classesOf(snapshot), { 2155: "inherited" });
  assert.deepEqual(
    snapshot.ghosts.map(({ gpu, likelyHolders }) => [gpu, likelyHolders.map(({ pid }) => pid)]),
    [
      [uuidOf(0), [2155]],
      [uuidOf(1), [2155]],
    ],
  );
});

test("attribute() calls a process with a dead main thread and live threads a zombie leader, not dead", () => {
  const snapshot = look({
    processes: [
      { pid: 742, parent: 500, state: "Z", threadStates: ["Z", "S", "S"], touch: "context", mib: 1542 },
      shell,
      sshd,
    ],
  });

  assert.deepEqual(classesOf(snapshot), { 742: "zombie-leader" });
  assert.deepEqual(snapshot.ghosts, []);
});

test("attribute() calls a zombie without threads a ghost's name, not a holder, when its child keeps the memory", () => {
  const snapshot = look({
    processes: [
      { pid: 700, parent: 500, state: "Z", threadStates: ["Z"], mib: 100 },
      { pid: 701, parent: 1, touch: "inherited" },
      shell,
      sshd,
    ],
  });

  assert.deepEqual(classesOf(snapshot), { 701: "inherited" });
  assert.deepEqual(snapshot.ghosts.map(({ pid }) => pid), [700]);
});

test("attribute() calls multiprocessing workers orphans when their parent is PID 1", () => {
  const snapshot = look({ processes: [{ pid: 900, touch: "context", argv: SPAWNED }] });

  assert.deepEqual(classesOf(snapshot), { 900: "orphan" });
});

test("attribute() calls multiprocessing workers orphans when a shell has taken them in", () => {
  const snapshot = look({
    processes: [sshd, shell, { pid: 900, parent: 500, touch: "context", argv: SPAWNED }],
  });

  assert.deepEqual(classesOf(snapshot), { 900: "orphan" });
});

test("attribute() calls multiprocessing workers live when their Python parent lives", () => {
  const snapshot = look({
    processes: [sshd, shell, { pid: 800, parent: 500, touch: "context" }, {
      pid: 900,
      parent: 800,
      touch: "context",
      argv: SPAWNED,
    }],
  });

  assert.deepEqual(classesOf(snapshot), { 800: "live", 900: "live" });
});

test("attribute() calls the workers of an orphaned vLLM engine orphans though their own parent lives", () => {
  const snapshot = look({
    processes: [
      sshd,
      shell,
      { pid: 22_110, parent: 500, touch: "context", argv: ["VLLM::EngineCore"] },
      { pid: 22_188, parent: 22_110, touch: "context", argv: ["VLLM::Worker_TP0"] },
    ],
  });

  assert.deepEqual(classesOf(snapshot), { 22_110: "orphan", 22_188: "orphan" });
});

test("attribute() leaves a loader worker with its job when the job's main process lives", () => {
  const snapshot = look({
    processes: [sshd, shell, { pid: 800, parent: 500, touch: "context" }, {
      pid: 801,
      parent: 800,
      touch: "inherited",
    }],
    dead: [{ pid: 794, mib: 2566 }],
  });

  assert.deepEqual(classesOf(snapshot), { 800: "live", 801: "live" });
});

test("attribute() spares a daemonised child of a live job beside somebody's ghost when they share descriptors", () => {
  const snapshot = look({
    processes: [sshd, shell, { pid: 800, parent: 500, touch: "context" }, {
      pid: 801,
      touch: "inherited",
      sharedWith: [800],
    }],
    dead: [{ pid: 794, mib: 2566 }],
  });

  assert.deepEqual(classesOf(snapshot), { 800: "live", 801: "detached" });
  assert.deepEqual(snapshot.ghosts[0]?.likelyHolders.map(({ pid }) => pid), [800]);
});

test("attribute() calls a process with open descriptors and nothing mapped a monitor", () => {
  const snapshot = look({
    processes: [sshd, shell, { pid: 31, parent: 500, touch: "monitor", program: "/usr/bin/nvtop" }],
  });

  assert.deepEqual(classesOf(snapshot), { 31: "monitor" });
});

test("attribute() never calls a pid dead when its reader cannot see every process", () => {
  const snapshot = look({ reader: { isInitial: false }, processes: [], dead: [{ pid: 794, mib: 2566 }] });

  assert.deepEqual(snapshot.ghosts, []);
  assert.deepEqual(snapshot.problems.map(({ message }) => message), [
    "Only processes of this PID namespace can be seen from here: look from the host, or start the container with the host's PID namespace",
    "PID 794 in the driver's list cannot be seen from here",
  ]);
});

test("attribute() says unknown, not none, when a process list cannot be read", () => {
  const snapshot = look({ gpus: [{ usedMib: 4000, list: "no-permission" }], processes: [] });

  assert.deepEqual(snapshot.gpus[0]?.unattributed, { ok: false, why: "no-permission" });
  assert.deepEqual(snapshot.problems.map(({ message }) => message), [
    "The process list of GPU 0 cannot be read: that is not the same as no process",
  ]);
});

test("attribute() gives managed memory to the owner of the only context and 3 MiB to a process that merely sees the GPU", () => {
  const snapshot = look({
    gpus: [{ usedMib: 785 }, { usedMib: 3 }],
    processes: [sshd, shell, { pid: 800, parent: 500, touch: "context" }, {
      pid: 802,
      parent: 500,
      touch: "visible",
      on: [1],
    }],
  });

  assert.deepEqual(snapshot.gpus.map(({ unattributed, cause }) => [unattributed, cause]), [
    [
      { ok: true, value: 265 * 1024 ** 2 },
      "managed memory (cudaMallocManaged) is listed with no process; it can only belong to PID 800",
    ],
    [
      { ok: true, value: 3 * 1024 ** 2 },
      "processes that see this GPU without using it cost about 3 MiB each",
    ],
  ]);
});

test("attribute() says of an adopted process that nobody reads its output, and does not call it an orphan for that", () => {
  const snapshot = look({ processes: [{ pid: 70, touch: "context", session: 60, brokenOutput: true }] });

  assert.deepEqual(classesOf(snapshot), { 70: "detached" });
  assert.deepEqual(snapshot.holders[0]?.evidence, [
    "its starter has ended and its output goes into a pipe that nobody reads: it may have been left by mistake",
  ]);
});

test("attribute() calls 9 MiB beside each context what it is, and not managed memory", () => {
  const snapshot = attribute(observe({
    processes: [
      { pid: 800, touch: "context", on: [0], mib: 774 },
      { pid: 801, touch: "context", on: [0], mib: 774 },
    ],
    gpus: [{ usedMib: 2 * 774 + 18 }],
  }));

  assert.deepEqual(snapshot.gpus.map(({ unattributed, cause }) => [unattributed, cause]), [[
    { ok: true, value: 18 * 1024 ** 2 },
    "every context costs about 9 MiB beside what is listed, and a process that only sees the GPU about 3 MiB",
  ]]);
});
