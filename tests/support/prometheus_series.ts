/** How many series a snapshot comes to at most, reckoned from what the metrics are labelled with. */
import { WHYS } from "../../lib/core/reading.ts";
import { RECOVERY_ACTIONS } from "../../lib/model/gpu.ts";
import { HOLDER_CLASSES } from "../../lib/model/snapshot.ts";
import { OWNER_KINDS } from "../../lib/render/prometheus_holders.ts";
import { METRICS } from "../../lib/render/snapshot_prometheus.ts";

/** The values that a label has at most beside `uuid`; one for those that only tell more of the same thing. */
const VALUES: Readonly<Record<string, number>> = {
  class: HOLDER_CLASSES.length,
  owner: OWNER_KINDS.length,
  action: RECOVERY_ACTIONS.length,
  why: WHYS.length,
};
const MISSING = "gpuctl_gpu_metric_missing";

const ofGpu = METRICS.filter(({ labels }) => labels[0] === "uuid" && !isOfMig(labels));

export const MOST_SERIES = {
  // A GPU that could not be read has one series, and none of those of a GPU.
  machine: total(METRICS.filter(({ labels }) => labels[0] !== "uuid" && labels[0] !== "index")),
  // A metric is missing once, for one reason.
  gpu: total(ofGpu.filter(({ name }) => name !== MISSING)) +
    METRICS.filter(({ labels, name }) => labels[0] === "uuid" && name !== MISSING).length,
  migDevice: METRICS.filter(({ labels }) => isOfMig(labels)).length,
};

function isOfMig(labels: readonly string[]): boolean {
  return labels.includes("gpu_instance");
}

function total(metrics: typeof METRICS): number {
  return metrics.reduce(
    (sum, { labels }) => sum + labels.reduce((product, label) => product * (VALUES[label] ?? 1), 1),
    0,
  );
}
