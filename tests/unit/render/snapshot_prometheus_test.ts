import assert from "node:assert/strict";
import { test } from "node:test";
import { gpuUuid } from "../../../lib/core/ids.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import { percent } from "../../../lib/core/units.ts";
import type { MigInstance } from "../../../lib/model/gpu.ts";
import type { Snapshot } from "../../../lib/model/snapshot.ts";
import { renderSnapshotPrometheus } from "../../../lib/render/snapshot_prometheus.ts";
import { assertGolden } from "../../support/golden.ts";
import { parsePrometheus, valuesOf } from "../../support/prometheus_text.ts";
import {
  account,
  context,
  device,
  ghost,
  holder,
  listed,
  mib,
  sceneUuid,
  snapshot,
} from "../../support/scene_parts.ts";
import { WORLDS } from "../../support/worlds.ts";

const UUID = String(sceneUuid(0));
const ARGV = ["python", "train.py"];

/** What is written of one metric. */
function read(world: Snapshot, name: string) {
  return valuesOf(parsePrometheus(renderSnapshotPrometheus(world)), name);
}

/** The values of one metric that are not 0. */
function nonzero(world: Snapshot, name: string) {
  return read(world, name).filter(([, value]) => value !== 0);
}

/** Why each metric of each GPU that is not there is missing. */
function missing(world: Snapshot) {
  return read(world, "gpuctl_gpu_metric_missing").map(([labels]) => labels);
}

for (
  const name of [
    "forked-child",
    "hostile",
    "mig",
    "container",
    "hanging-driver",
    "lost-gpu",
    "no-driver",
    "simulated",
  ] as const
) {
  test(`renderSnapshotPrometheus() writes ${name}`, () => {
    assertGolden(`snapshot/${name}.prom`, renderSnapshotPrometheus(WORLDS[name]));
  });
}

test("renderSnapshotPrometheus() says 0 of what nobody is only where everybody was seen", () => {
  const idle = snapshot([account(0, listed())]);
  assert.equal(read(idle, "gpuctl_snapshot_complete")[0]?.[1], 1);
  assert.equal(read(idle, "gpuctl_gpu_holders").length, 15);
  assert.deepEqual(read(idle, "gpuctl_gpu_ghost_contexts"), [[{ uuid: UUID }, 0]]);

  const halfSeen = WORLDS["not-root"];
  assert.deepEqual(read(halfSeen, "gpuctl_snapshot_complete"), [[{}, 0]]);
  assert.deepEqual(read(halfSeen, "gpuctl_gpu_holders"), [
    [{ uuid: UUID, class: "live" }, 1],
    [{ uuid: UUID, class: "unknown" }, 1],
  ]);
  assert.deepEqual(read(halfSeen, "gpuctl_gpu_ghost_contexts"), []);
});

test("renderSnapshotPrometheus() takes nobody in a saved text of nvidia-smi for seen", () => {
  const saved = snapshot([account(0, listed())], { source: "file" });
  assert.deepEqual(read(saved, "gpuctl_snapshot_complete"), [[{}, 0]]);
  assert.deepEqual(read(saved, "gpuctl_holders"), []);
});

test("renderSnapshotPrometheus() counts a process once on the machine and once on each of its GPUs", () => {
  const world = snapshot([account(0, listed(context(7, 100))), account(1, listed(context(7, 50)))], {
    holders: [
      holder(7, { class: "orphan", argv: ARGV, devices: [device(0, "used", 100), device(1, "used", 50)] }),
    ],
  });
  assert.deepEqual(nonzero(world, "gpuctl_holders"), [[{ class: "orphan" }, 1]]);
  assert.deepEqual(nonzero(world, "gpuctl_gpu_holder_context_bytes"), [
    [{ uuid: UUID, class: "orphan" }, mib(100)],
    [{ uuid: String(sceneUuid(1)), class: "orphan" }, mib(50)],
  ]);
});

test("renderSnapshotPrometheus() has no sum of which a part is not known, and says so", () => {
  const unknown = { ...device(0, "used"), contextBytes: absent("not-reported") };
  const world = snapshot([account(0, listed(context(7, 100)), { utilization: known(percent(29)) })], {
    holders: [
      holder(7, { class: "live", argv: ARGV, devices: [device(0, "used", 100)] }),
      holder(8, { class: "live", argv: ARGV, devices: [unknown] }),
      holder(9, { class: "monitor", argv: ARGV, devices: [device(0, "watched")] }),
    ],
    ghosts: [ghost(5, 0, 20, []), { ...ghost(6, 0, 0, []), contextBytes: absent("implausible") }],
  });
  assert.deepEqual(
    read(world, "gpuctl_gpu_holder_context_bytes").find(([labels]) =>
      "class" in labels && labels.class === "live"
    ),
    undefined,
  );
  assert.deepEqual(nonzero(world, "gpuctl_gpu_holders"), [
    [{ uuid: UUID, class: "monitor" }, 1],
    [{ uuid: UUID, class: "live" }, 2],
  ]);
  assert.deepEqual(read(world, "gpuctl_gpu_ghost_contexts"), [[{ uuid: UUID }, 2]]);
  assert.deepEqual(read(world, "gpuctl_gpu_ghost_context_bytes"), []);
  assert.deepEqual(missing(world), [
    { uuid: UUID, metric: "gpuctl_gpu_holder_context_bytes", why: "not-reported" },
    { uuid: UUID, metric: "gpuctl_gpu_owner_context_bytes", why: "not-reported" },
    { uuid: UUID, metric: "gpuctl_gpu_ghost_context_bytes", why: "implausible" },
  ]);
  assert.deepEqual(read(world, "gpuctl_gpu_utilization_ratio"), [[{ uuid: UUID }, 0.29]]);
});

test("renderSnapshotPrometheus() counts no contexts of a list that is cut, and says so", () => {
  const cut = { state: "incomplete", contexts: [context(7, 100)], reason: absent("hidden") } as const;
  const world = snapshot([account(0, cut, { utilization: known(percent(0)) })]);
  assert.deepEqual(read(world, "gpuctl_gpu_process_list_complete"), [[{ uuid: UUID }, 0]]);
  assert.deepEqual(read(world, "gpuctl_gpu_contexts"), []);
  assert.deepEqual(missing(world), [
    { uuid: UUID, metric: "gpuctl_gpu_memory_unattributed_bytes", why: "hidden" },
    { uuid: UUID, metric: "gpuctl_gpu_contexts", why: "hidden" },
    { uuid: UUID, metric: "gpuctl_gpu_context_bytes", why: "hidden" },
  ]);
});

test("renderSnapshotPrometheus() sorts holders by what they belong to, the most telling first", () => {
  const cgroup = { cgroup: "/x", isCgroupDeleted: false };
  const container = { id: "c", runtime: "docker" as const, isMonitor: false };
  const owners = [
    known({ ...cgroup, slurmJob: "1", pod: "p", container, unit: "u" }),
    known({ ...cgroup, pod: "p", container, unit: "u" }),
    known({ ...cgroup, container, unit: "u" }),
    known({ ...cgroup, loginSession: "3", unit: "session-3.scope" }),
    known({ ...cgroup, unit: "u" }),
    known(cgroup),
    absent("no-permission"),
  ];
  const world = snapshot([account(0, listed())], {
    holders: owners.map((owner, place) =>
      holder(place + 1, { class: "live", argv: ARGV, devices: [device(0, "used", 2 ** place)] }, { owner })
    ),
  });
  const kinds = ["slurm", "kubernetes", "container", "session", "unit", "other", "unknown"];
  assert.deepEqual(
    read(world, "gpuctl_gpu_owner_context_bytes"),
    kinds.map((owner, place) => [{ uuid: UUID, owner }, mib(2 ** place)]),
  );
});

test("renderSnapshotPrometheus() has memory that compute instances share once, and none of an instance without an id", () => {
  const part = (compute: number, gpuInstance: MigInstance["gpuInstance"]): MigInstance => ({
    uuid: gpuUuid(`MIG-${compute}`),
    gpuInstance,
    computeInstance: known(compute),
    profile: absent("not-reported"),
    memoryTotal: known(mib(100)),
    memoryUsed: known(mib(10)),
  });
  const world = snapshot([
    account(0, listed(), {
      migMode: known({ current: true, pending: true }),
      migInstances: known([part(0, known(3)), part(1, known(3)), part(2, absent("not-supported"))]),
    }),
  ]);
  assert.deepEqual(read(world, "gpuctl_gpu_mig_instance_memory_used_bytes"), [
    [{ uuid: UUID, gpu_instance: "3" }, mib(10)],
  ]);
  assert.deepEqual(read(world, "gpuctl_gpu_mig_device_info").map(([labels]) => labels), [
    { uuid: UUID, mig_uuid: "MIG-0", gpu_instance: "3", compute_instance: "0" },
    { uuid: UUID, mig_uuid: "MIG-1", gpu_instance: "3", compute_instance: "1" },
    { uuid: UUID, mig_uuid: "MIG-2", compute_instance: "2" },
  ]);
  assert.deepEqual(missing(world).slice(1), [
    { uuid: UUID, metric: "gpuctl_gpu_mig_instance_memory_size_bytes", why: "not-supported" },
    { uuid: UUID, metric: "gpuctl_gpu_mig_instance_memory_used_bytes", why: "not-supported" },
  ]);
});

test("renderSnapshotPrometheus() gives no time to a snapshot that has none", () => {
  const name = "gpuctl_snapshot_timestamp_seconds";
  assert.deepEqual(read(snapshot([]), name), [[{}, Date.UTC(2026, 10, 30, 9, 26, 33) / 1000]]);
  for (const takenAt of [absent("not-reported"), known("yesterday")]) {
    assert.deepEqual(read(snapshot([], { takenAt }), name), []);
  }
});
