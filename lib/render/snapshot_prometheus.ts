/**
 * A snapshot for Prometheus. What is not known has no sample, never 0: METRIC_MISSING says why. docs/prometheus.md
 * explains every metric.
 */
import type { GpuUuid } from "../core/ids.ts";
import { type Reading, valueOf, WHYS } from "../core/reading.ts";
import {
  type GpuAccount,
  HOLDER_CLASSES,
  isAllSeen,
  isDriverAnswering,
  type Snapshot,
} from "../model/snapshot.ts";
import { type MetricFamily, type MetricHead, renderPrometheus, type Sample } from "./prometheus.ts";
import { GPU_METRICS } from "./prometheus_gpu.ts";
import { HOLDER_METRICS } from "./prometheus_holders.ts";
import type { GpuMetric, GpuView, HolderThere } from "./prometheus_view.ts";
import { SIMULATED } from "./simulated.ts";

/** Writes a snapshot in Prometheus' text format. */
export function renderSnapshotPrometheus(snapshot: Snapshot): string {
  const views = viewsOf(snapshot);
  const families: MetricFamily[] = [
    ...MACHINE_METRICS.map(({ read, ...head }) => ({ ...head, samples: read(snapshot) })),
    { ...METRIC_MISSING, samples: views.flatMap(missingOn) },
    ...METRICS_OF_A_GPU.map((metric) => ({ ...headOf(metric), samples: views.flatMap(samplesOf(metric)) })),
  ];
  return renderPrometheus(families, snapshot.simulated ? [SIMULATED] : []);
}

interface MachineMetric extends MetricHead {
  readonly read: (snapshot: Snapshot) => readonly Sample[];
}

const MACHINE_METRICS: readonly MachineMetric[] = [
  {
    name: "gpuctl_snapshot_info",
    help: "Where the numbers come from. Always 1.",
    labels: ["source"],
    read: ({ source }) => [{ labels: [source], value: 1 }],
  },
  {
    name: "gpuctl_snapshot_timestamp_seconds",
    help: "When the snapshot was taken, in seconds since 1970.",
    labels: [],
    read: ({ takenAt }) => only(secondsOf(takenAt)),
  },
  {
    name: "gpuctl_snapshot_simulated",
    help: "Whether the numbers are of a simulated server (1) and no real GPU is behind them.",
    labels: [],
    read: ({ simulated }) => only(Number(simulated)),
  },
  {
    name: "gpuctl_snapshot_complete",
    help: "Whether everybody who might hold a GPU was seen (1). Else counts are at least so many.",
    labels: [],
    read: (snapshot) => only(Number(isEverybodySeen(snapshot))),
  },
  {
    name: "gpuctl_problems",
    help: "Things that could not be seen, by the reason.",
    labels: ["why"],
    read: ({ problems }) =>
      WHYS.map((why) => ({
        labels: [why],
        value: problems.filter(({ reason }) => reason.why === why).length,
      })),
  },
  {
    name: "gpuctl_gpu_unreadable",
    help: "A GPU that the driver counts and could not open, and why. Always 1.",
    labels: ["index", "why"],
    read: ({ unreadableGpus }) =>
      [...new Map(unreadableGpus.map(({ index, reason }) => [index, reason.why]))]
        .map(([index, why]) => ({ labels: [String(index), why], value: 1 })),
  },
  {
    name: "gpuctl_driver_up",
    help: "Whether the driver answered (1).",
    labels: [],
    read: (snapshot) => only(Number(isDriverAnswering(snapshot))),
  },
  {
    name: "gpuctl_driver_info",
    help: "Versions of the kernel module, of its library and of CUDA. Always 1.",
    labels: ["version", "library_version", "cuda_version"],
    read: ({ driver }) => {
      if (!driver.ok) return [];
      const { version, libraryVersion, cudaVersion } = driver.value;
      return [{ labels: [version, libraryVersion, cudaVersion].map((text) => valueOf(text)), value: 1 }];
    },
  },
  {
    name: "gpuctl_holders",
    help: "Live processes that hold a GPU, each once, by what they are.",
    labels: ["class"],
    read: (snapshot) =>
      HOLDER_CLASSES.map((name) => ({
        labels: [name],
        value: snapshot.holders.filter((holder) => holder.class === name).length,
      })).filter(({ value }) => value > 0 || isEverybodySeen(snapshot)),
  },
];

const METRICS_OF_A_GPU: readonly GpuMetric[] = [...GPU_METRICS, ...HOLDER_METRICS];

/** One sample for each metric of a GPU that has no value there, or not all of its values. */
const METRIC_MISSING: MetricHead = {
  name: "gpuctl_gpu_metric_missing",
  help: "A metric of a GPU that has no value, or not all of them, and why. Always 1.",
  labels: ["uuid", "metric", "why"],
};

/** Every metric there is, in the order in which they are written. */
export const METRICS: readonly MetricHead[] = [
  ...MACHINE_METRICS,
  METRIC_MISSING,
  ...METRICS_OF_A_GPU.map(headOf),
];

function headOf({ name, help, labels }: GpuMetric): MetricHead {
  return { name, help, labels: ["uuid", ...labels] };
}

function only(value: number | undefined): Sample[] {
  return value === undefined ? [] : [{ labels: [], value }];
}

/** Text that names a moment in no way that is known gives none. */
function secondsOf(takenAt: Reading<string>): number | undefined {
  const time = takenAt.ok ? Date.parse(takenAt.value) : NaN;
  return Number.isNaN(time) ? undefined : time / 1000;
}

/** A saved text of nvidia-smi lists contexts and knows no processes, so nobody at all has been seen. */
function isEverybodySeen(snapshot: Snapshot): boolean {
  return snapshot.source !== "file" && isAllSeen(snapshot);
}

/** The GPUs of a snapshot, then those that only a holder or a ghost names. */
function viewsOf(snapshot: Snapshot): GpuView[] {
  const accounts = new Map<GpuUuid, GpuAccount>();
  for (const account of snapshot.gpus) {
    if (!accounts.has(account.gpu.uuid)) accounts.set(account.gpu.uuid, account);
  }
  const holders = Map.groupBy(
    snapshot.holders.flatMap((holder) =>
      holder.devices.map(({ gpu, contextBytes }) => ({ gpu, holder, contextBytes }))
    ),
    ({ gpu }) => gpu,
  );
  const ghosts = Map.groupBy(snapshot.ghosts, ({ gpu }) => gpu);
  return [...new Set([...accounts.keys(), ...holders.keys(), ...ghosts.keys()])].map((uuid) => ({
    uuid,
    account: accounts.get(uuid),
    holders: (holders.get(uuid) ?? []).map(({ holder, contextBytes }): HolderThere => ({
      class: holder.class,
      owner: holder.owner,
      contextBytes,
    })),
    ghosts: ghosts.get(uuid) ?? [],
    isEverybodySeen: isEverybodySeen(snapshot),
  }));
}

function samplesOf({ read }: GpuMetric): (view: GpuView) => Sample[] {
  return (view) =>
    read(view).flatMap(({ labels, value }) =>
      value.ok ? [{ labels: [view.uuid, ...labels], value: value.value }] : []
    );
}

function missingOn(view: GpuView): Sample[] {
  return METRICS_OF_A_GPU.flatMap(({ name, read }) => {
    const reason = read(view).map(({ value }) => value).find((value) => !value.ok);
    return reason === undefined || reason.ok ? [] : [{ labels: [view.uuid, name, reason.why], value: 1 }];
  });
}
