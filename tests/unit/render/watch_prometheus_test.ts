import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { ALERT_KINDS } from "../../../lib/model/watch.ts";
import { renderSnapshotPrometheus } from "../../../lib/render/snapshot_prometheus.ts";
import { renderWatchPrometheus } from "../../../lib/render/watch_prometheus.ts";
import { parsePrometheus } from "../../support/prometheus_text.ts";
import { WATCH_VIEWS } from "../../support/watch_views.ts";

test("renderWatchPrometheus() is the snapshot's document with the alerts that stand, those of no kind too", () => {
  const text = renderWatchPrometheus(WATCH_VIEWS.ghost);
  const own = renderSnapshotPrometheus(WATCH_VIEWS.ghost.snapshot);
  assert.ok(text.startsWith(own));
  parsePrometheus(text);
  assert.deepEqual(text.slice(own.length).trimEnd().split("\n"), [
    "# HELP gpuctl_watch_alerts Alerts that stand, by what they are about.",
    "# TYPE gpuctl_watch_alerts gauge",
    ...ALERT_KINDS.map((kind) =>
      `gpuctl_watch_alerts{kind="${kind}"} ${Number(["ghost", "growth"].includes(kind))}`
    ),
  ]);
});

test("docs/prometheus.md knows what a watch adds", () => {
  const text = readFileSync(new URL("../../../docs/prometheus.md", import.meta.url), "utf8");
  assert.ok(text.includes("`gpuctl_watch_alerts`"));
});
