/** A watch for node_exporter: the snapshot's metrics, and how many alerts stand. */
import { ALERT_KINDS, type WatchView } from "../model/watch.ts";
import { type MetricHead, renderPrometheus } from "./prometheus.ts";
import { renderSnapshotPrometheus } from "./snapshot_prometheus.ts";

/** The metric that a watch adds. */
const WATCH_METRIC: MetricHead = {
  name: "gpuctl_watch_alerts",
  help: "Alerts that stand, by what they are about.",
  labels: ["kind"],
};

/** Writes how things stand in Prometheus' text format. */
export function renderWatchPrometheus({ snapshot, alerts }: WatchView): string {
  const samples = ALERT_KINDS.map((name) => ({
    labels: [name],
    value: alerts.filter(({ kind }) => kind === name).length,
  }));
  return renderSnapshotPrometheus(snapshot) + renderPrometheus([{ ...WATCH_METRIC, samples }]);
}
