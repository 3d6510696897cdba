import assert from "node:assert/strict";
import { test } from "node:test";
import { attribute } from "../../../lib/analysis/attribute.ts";
import { diffSnapshots } from "../../../lib/analysis/diff_snapshots.ts";
import { pid } from "../../../lib/core/ids.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import { bytes } from "../../../lib/core/units.ts";
import type { SnapshotDiff } from "../../../lib/model/diff.ts";
import { contextsOf } from "../../../lib/model/gpu.ts";
import type { Snapshot } from "../../../lib/model/snapshot.ts";
import { MIB, TOLERANCE } from "../../support/job_story.ts";
import { type MachineSpec, observe, type ProcessSpec, uuidOf } from "../../support/machine.ts";

const IDLE: MachineSpec = { processes: [] };
const context = (id: number, mib: number, more: Partial<ProcessSpec> = {}): ProcessSpec => ({
  pid: id,
  touch: "context",
  mib,
  ...more,
});

interface Edits {
  readonly before?: Partial<Snapshot>;
  readonly after?: Partial<Snapshot>;
}

function compare(before: MachineSpec, after: MachineSpec, edits: Edits = {}): SnapshotDiff {
  return diffSnapshots(
    { name: "before.json", snapshot: { ...attribute(observe(before)), ...edits.before } },
    { name: "after.json", snapshot: { ...attribute(observe(after)), ...edits.after } },
    TOLERANCE,
  );
}

function changesOf(diff: SnapshotDiff): unknown[] {
  return diff.changes.map(({ kind, pid, before, after }) => [
    kind,
    pid,
    before.ok ? before.value / MIB : before.why,
    after.ok ? after.value / MIB : after.why,
  ]);
}

test("diffSnapshots() finds nothing between a snapshot and itself", () => {
  const machine: MachineSpec = { gpus: [{}, {}], processes: [context(5, 800), context(6, 70, { on: [1] })] };
  const diff = compare(machine, machine);

  assert.equal(diff.verdict, "unchanged");
  assert.deepEqual(diff.gpus.map(({ verdict, left }) => [verdict, left]), [
    [{ kind: "unchanged" }, known(0)],
    [{ kind: "unchanged" }, known(0)],
  ]);
  assert.deepEqual([diff.changes, diff.leftovers, diff.notes], [[], [], []]);
});

test("diffSnapshots() names who holds a new context", () => {
  const diff = compare(IDLE, { processes: [context(5, 800)] });

  assert.deepEqual(diff.gpus[0]?.verdict, { kind: "held", by: [5] });
  assert.deepEqual(diff.gpus[0]?.left, known(800 * MIB));
  assert.deepEqual(changesOf(diff), [["new", 5, 0, 800]]);
  assert.deepEqual(diff.leftovers.map(({ holder, why }) => [holder.pid, why]), [[
    5,
    "holds 800 MiB on GPU 0",
  ]]);
});

test("diffSnapshots() names the likely holder of a new ghost", () => {
  const diff = compare(IDLE, {
    processes: [{ pid: 812, touch: "inherited", group: 794 }],
    dead: [{ pid: 794, mib: 2566 }],
  });

  assert.deepEqual(diff.gpus[0]?.verdict, { kind: "held", by: [812] });
  assert.deepEqual(diff.leftovers.map(({ holder, why }) => [holder.pid, why]), [
    [812, "may hold 2.5 GiB on GPU 0 that dead PID 794 allocated"],
  ]);
});

test("diffSnapshots() says that nobody visible holds a new ghost or more used memory", () => {
  const ghost = compare(IDLE, { processes: [], dead: [{ pid: 794, mib: 2566 }] });
  const unlisted = compare(IDLE, { processes: [], gpus: [{ usedMib: 700 }] });

  assert.deepEqual(ghost.gpus[0]?.verdict, { kind: "held-by-nobody-visible", listed: [794] });
  assert.deepEqual(unlisted.gpus[0]?.verdict, { kind: "held-by-nobody-visible", listed: [] });
  assert.deepEqual(unlisted.gpus[0]?.left, known(700 * MIB));
});

test("diffSnapshots() says moved when a server took over what a client had", () => {
  const diff = compare({ processes: [context(181, 112_300), context(200, 700)] }, {
    processes: [context(200, 112_252)],
  });

  assert.deepEqual(diff.gpus[0]?.verdict, {
    kind: "moved",
    handovers: [{ from: [181], to: 200, bytes: 111_552 * MIB }],
  });
  assert.deepEqual(changesOf(diff), [["gone", 181, 112_300, 0], ["grown", 200, 700, 112_252]]);
});

test("diffSnapshots() says that the same process grew, and leaves it out of the leftovers", () => {
  const diff = compare({ processes: [context(5, 9713)] }, { processes: [context(5, 10_845)] });

  assert.deepEqual(diff.gpus[0]?.verdict, { kind: "grew", by: [5] });
  assert.deepEqual(diff.leftovers, []);
});

test("diffSnapshots() says released when a context went or shrank", () => {
  assert.equal(compare({ processes: [context(5, 800)] }, IDLE).verdict, "released");
  assert.equal(
    compare({ processes: [context(5, 800)] }, { processes: [context(5, 100)] }).verdict,
    "released",
  );
});

test("diffSnapshots() takes a later process under the same pid for a new one", () => {
  const diff = compare({ processes: [context(5, 800)] }, {
    processes: [context(5, 800, { startTicks: 777 })],
  });

  assert.deepEqual(changesOf(diff), [["gone", 5, 800, 0], ["new", 5, 0, 800]]);
  assert.deepEqual(diff.gpus[0]?.verdict, { kind: "held", by: [5] });
});

test("diffSnapshots() says that no process outlives a reboot", () => {
  const machine: MachineSpec = { processes: [context(5, 800)] };
  const { host } = attribute(observe(machine));
  const diff = compare(machine, machine, { after: { host: { ...host, bootId: known("another") } } });

  assert.deepEqual(changesOf(diff), [["gone", 5, 800, 0], ["new", 5, 0, 800]]);
  assert.deepEqual(diff.notes, [
    "The machine was rebooted between the snapshots: no process of the first one can be in the second.",
  ]);
});

test("diffSnapshots() says when the snapshots are of two machines, or in the wrong order", () => {
  const { host } = attribute(observe(IDLE));
  const diff = compare(IDLE, IDLE, {
    after: { host: { ...host, name: known("node2") }, takenAt: known("2026-11-29T12:00:00.000Z") },
  });

  assert.deepEqual(diff.notes, [
    "The snapshots are of two machines, node1 and node2.",
    "The second snapshot is older than the first.",
  ]);
});

test("diffSnapshots() goes by the pid alone where a snapshot has no start times, and says so", () => {
  const machine: MachineSpec = { processes: [context(5, 800)] };
  const { holders } = attribute(observe(machine));
  const bare = holders.map((holder) => ({ ...holder, startTicks: absent("not-reported") }));
  const diff = compare(machine, machine, { before: { holders: bare } });

  assert.deepEqual(diff.changes, []);
  assert.deepEqual(diff.notes, ["Start times are missing: the same pid is taken for the same process."]);
});

test("diffSnapshots() calls nothing gone or new that a list leaves out", () => {
  const unread: MachineSpec = { processes: [], gpus: [{ list: "no-permission", usedMib: 800 }] };
  const full: MachineSpec = { processes: [context(5, 800)] };

  assert.deepEqual(compare(full, unread).changes, []);
  assert.deepEqual(compare(unread, full).changes, []);
  assert.deepEqual(compare(full, unread).gpus[0]?.verdict, {
    kind: "unknown",
    reason: absent("no-permission"),
  });
});

/** A snapshot as it is made of what one query of nvidia-smi printed. */
function saved(processes: readonly ProcessSpec[], source: Snapshot["source"] = "file"): Snapshot {
  const snapshot = attribute(observe({ processes }));
  const reason = absent("not-reported", "the query shows compute processes only");
  return {
    ...snapshot,
    source,
    takenAt: absent("not-reported"),
    gpus: snapshot.gpus.map((account) => ({
      ...account,
      gpu: {
        ...account.gpu,
        memoryUsed: absent("not-reported"),
        processList: { state: "incomplete", contexts: contextsOf(account.gpu.processList), reason },
      },
    })),
  };
}

test("diffSnapshots() compares the answers of one query with each other, though each leaves something out", () => {
  const pair = (source?: Snapshot["source"]) =>
    diffSnapshots(
      { name: "before.csv", snapshot: saved([context(181, 112_300), context(200, 700)], source) },
      { name: "after.csv", snapshot: saved([context(200, 112_252)], source) },
      TOLERANCE,
    );

  assert.equal(pair().verdict, "moved");
  // A driver's own list that is cut short leaves out other rows each time.
  assert.equal(pair("nvml").verdict, "grew");
});

test("diffSnapshots() knows by the total alone that more is held", () => {
  const unread = (usedMib: number): MachineSpec => ({
    processes: [],
    gpus: [{ list: "no-permission", usedMib }],
  });

  assert.equal(compare(unread(0), unread(5000)).verdict, "held-by-nobody-visible");
});

test("diffSnapshots() says unknown for a GPU that only one snapshot has", () => {
  const diff = compare(IDLE, { gpus: [{}, {}], processes: [] });

  assert.deepEqual(diff.gpus[1]?.verdict, {
    kind: "unknown",
    reason: absent("not-reported", "it is not in the first snapshot"),
  });
  assert.equal(diff.gpus[1]?.uuid, uuidOf(1));
});

test("diffSnapshots() takes changes within the tolerance for none", () => {
  const diff = diffSnapshots(
    { name: "a", snapshot: attribute(observe({ processes: [context(5, 800)] })) },
    { name: "b", snapshot: attribute(observe({ processes: [context(5, 810), context(pid(6), 4)] })) },
    bytes(20 * MIB),
  );

  assert.deepEqual(diff.gpus[0]?.verdict, { kind: "unchanged" });
});

test("diffSnapshots() does not blame who was on the GPU before for what a later process left", () => {
  const older = context(5, 800);
  const child: ProcessSpec = { pid: 910, touch: "inherited", group: 900 };
  const dead = [{ pid: 900, mib: 4096 }];

  const alone = compare({ processes: [older] }, { processes: [older], dead });
  assert.deepEqual(alone.gpus[0]?.verdict, { kind: "held-by-nobody-visible", listed: [900] });
  assert.deepEqual(alone.leftovers, []);
  const both = compare({ processes: [older] }, { processes: [older, child], dead });
  assert.deepEqual(both.gpus[0]?.verdict, { kind: "held", by: [910] });
  assert.deepEqual(both.leftovers.map(({ holder, why }) => [holder.pid, why]), [
    [910, "may hold 4 GiB on GPU 0 that dead PID 900 allocated"],
  ]);
});
