import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { printableLines } from "../../../lib/core/text.ts";
import type { Snapshot } from "../../../lib/model/snapshot.ts";
import { METRICS, renderSnapshotPrometheus } from "../../../lib/render/snapshot_prometheus.ts";
import { MOST_SERIES } from "../../support/prometheus_series.ts";
import { parsePrometheus } from "../../support/prometheus_text.ts";
import { anySnapshot } from "../../support/snapshots.ts";

/** How many series a machine has at most, as docs/prometheus.md promises it. */
function mostSeries({ gpus, unreadableGpus, holders, ghosts }: Snapshot): number {
  const uuids = new Set([
    ...gpus.map(({ gpu }) => gpu.uuid),
    ...holders.flatMap(({ devices }) => devices.map(({ gpu }) => gpu)),
    ...ghosts.map(({ gpu }) => gpu),
  ]);
  const mig = gpus.reduce(
    (sum, { gpu }) => sum + (gpu.migInstances.ok ? gpu.migInstances.value.length : 0),
    0,
  );
  return MOST_SERIES.machine + unreadableGpus.length + MOST_SERIES.gpu * uuids.size +
    MOST_SERIES.migDevice * mig;
}

test("renderSnapshotPrometheus() writes nothing but the format, no series twice, whatever a snapshot holds", () => {
  fc.assert(fc.property(anySnapshot, (snapshot) => {
    const { types, help, samples } = parsePrometheus(renderSnapshotPrometheus(snapshot));
    assert.deepEqual([...types.keys()], [...help.keys()]);
    assert.deepEqual(new Set(types.values()), new Set(["gauge"]));
    assert.deepEqual(new Set(samples.map(({ name }) => name)), new Set(types.keys()));
    assert.ok(samples.every(({ value }) => Number.isFinite(value)));
  }));
});

test("renderSnapshotPrometheus() has only metrics and labels that it declares", () => {
  fc.assert(fc.property(anySnapshot, (snapshot) => {
    const labels = new Map(METRICS.map((metric) => [metric.name, metric.labels]));
    for (const sample of parsePrometheus(renderSnapshotPrometheus(snapshot)).samples) {
      const declared = labels.get(sample.name) ?? [];
      assert.deepEqual(Object.keys(sample.labels), declared.filter((name) => name in sample.labels));
    }
  }));
});

test("renderSnapshotPrometheus() keeps hostile text as it is, but for what could drive a terminal", () => {
  fc.assert(fc.property(anySnapshot, (snapshot) => {
    const text = renderSnapshotPrometheus(snapshot);
    assert.doesNotMatch(text.replaceAll("\n", ""), /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}]/u);
    const named = new Set(
      parsePrometheus(text).samples.filter(({ name }) => name === "gpuctl_gpu_info")
        .map(({ labels }) => labels["uuid"]),
    );
    assert.deepEqual(named, new Set(snapshot.gpus.map(({ gpu }) => printableLines(gpu.uuid))));
  }));
});

test("renderSnapshotPrometheus() has at most as many series as the machine allows, however many processes there are", () => {
  fc.assert(fc.property(anySnapshot, fc.integer({ min: 1, max: 20 }), (snapshot, copies) => {
    const crowd = { ...snapshot, holders: Array.from({ length: copies }, () => snapshot.holders).flat() };
    const { samples } = parsePrometheus(renderSnapshotPrometheus(crowd));
    assert.ok(samples.length <= mostSeries(snapshot), `${samples.length} > ${mostSeries(snapshot)}`);
  }));
});

test("renderSnapshotPrometheus() names neither process, user nor command", () => {
  fc.assert(fc.property(anySnapshot, (snapshot) => {
    const holders = snapshot.holders.map((holder) => ({
      ...holder,
      name: "SECRET",
      argv: { ok: true, value: ["SECRET"] } as const,
      user: { ok: true, value: "SECRET" } as const,
      evidence: ["SECRET"],
    }));
    assert.ok(!renderSnapshotPrometheus({ ...snapshot, holders }).includes("SECRET"));
  }));
});
