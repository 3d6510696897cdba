/** What the driver says of a GPU, and of the parts that MIG divides it into. */
import { known, mapReading, type Reading, valueOf } from "../core/reading.ts";
import { contextsOf, type MigInstance, type ProcessList, RECOVERY_ACTIONS } from "../model/gpu.ts";
import type { GpuAccount } from "../model/snapshot.ts";
import { type GpuMetric, type GpuValue, type GpuView, one, sum } from "./prometheus_view.ts";

/** A GPU's name, its memory, its state, its contexts and its MIG devices. */
export const GPU_METRICS: readonly GpuMetric[] = [
  {
    name: "gpuctl_gpu_info",
    help: "Index, name and PCI address of a GPU. Always 1.",
    labels: ["index", "name", "bus_id"],
    read: ({ account }) => {
      if (account === undefined) return [];
      const { index, name, busId } = account.gpu;
      return [one(known(1), String(index), valueOf(name), valueOf(busId))];
    },
  },
  ofAccount("gpuctl_gpu_memory_size_bytes", "All memory of the GPU.", ({ gpu }) => gpu.memoryTotal),
  ofAccount("gpuctl_gpu_memory_used_bytes", "Memory in use.", ({ gpu }) => gpu.memoryUsed),
  ofAccount(
    "gpuctl_gpu_memory_reserved_bytes",
    "Memory that the driver keeps for itself.",
    ({ gpu }) => gpu.memoryReserved,
  ),
  ofAccount("gpuctl_gpu_memory_free_bytes", "Memory that is free.", ({ gpu }) => gpu.memoryFree),
  ofAccount(
    "gpuctl_gpu_memory_used_includes_reserve",
    "Whether the memory in use includes the driver's reserve (1), as old drivers count it.",
    ({ gpu }) => claim(gpu.usedIncludesReserve),
  ),
  ofAccount(
    "gpuctl_gpu_memory_unattributed_bytes",
    "Memory in use that the driver lists with no process.",
    ({ unattributed }) => unattributed,
  ),
  ofAccount(
    "gpuctl_gpu_utilization_ratio",
    "How busy the GPU was in the driver's last sample, 0 to 1.",
    ({ gpu }) => mapReading(gpu.utilization, (percent) => percent / 100),
  ),
  {
    name: "gpuctl_gpu_recovery_action",
    help: "The recovery that the driver asks for: 1 for one action, 0 for the others.",
    labels: ["action"],
    read: ({ account }) => {
      if (account === undefined) return [];
      const { recoveryAction } = account.gpu;
      return RECOVERY_ACTIONS.map((action) =>
        one(mapReading(recoveryAction, (asked) => Number(action === asked)), action)
      );
    },
  },
  ofAccount(
    "gpuctl_gpu_process_list_complete",
    "Whether the driver's list of contexts is whole (1), or cut or unreadable (0).",
    ({ gpu }) => known(Number(gpu.processList.state === "known")),
  ),
  ofAccount(
    "gpuctl_gpu_contexts",
    "Contexts that the driver lists, those of the dead too.",
    ({ gpu }) => ifWhole(gpu.processList, known(contextsOf(gpu.processList).length)),
  ),
  ofAccount(
    "gpuctl_gpu_context_bytes",
    "Memory of the contexts that the driver lists.",
    ({ gpu }) => ifWhole(gpu.processList, sum(contextsOf(gpu.processList).map(({ used }) => used))),
  ),
  ofAccount(
    "gpuctl_gpu_mig_enabled",
    "Whether the GPU is divided by MIG (1).",
    ({ gpu }) => claim(mapReading(gpu.migMode, ({ current }) => current)),
  ),
  {
    name: "gpuctl_gpu_mig_device_info",
    help: "A MIG device: its GPU instance, compute instance and profile. Always 1.",
    labels: ["mig_uuid", "gpu_instance", "compute_instance", "profile"],
    read: (view) =>
      ofMig(view, ({ uuid, gpuInstance, computeInstance, profile }) => [
        one(
          known(1),
          uuid,
          valueOf(mapReading(gpuInstance, String)),
          valueOf(mapReading(computeInstance, String)),
          valueOf(profile),
        ),
      ]),
  },
  {
    name: "gpuctl_gpu_mig_instance_memory_size_bytes",
    help: "All memory of a GPU instance, which its compute instances share.",
    labels: ["gpu_instance"],
    read: (view) => ofMig(view, (instance) => ofGpuInstance(instance, instance.memoryTotal)),
  },
  {
    name: "gpuctl_gpu_mig_instance_memory_used_bytes",
    help: "Memory in use of a GPU instance, which its compute instances share.",
    labels: ["gpu_instance"],
    read: (view) => ofMig(view, (instance) => ofGpuInstance(instance, instance.memoryUsed)),
  },
];

function ofAccount(name: string, help: string, read: (account: GpuAccount) => Reading<number>): GpuMetric {
  return {
    name,
    help,
    labels: [],
    read: ({ account }) => account === undefined ? [] : [one(read(account))],
  };
}

function claim(reading: Reading<boolean>): Reading<number> {
  return mapReading(reading, Number);
}

/** What a list comes to, if nothing of it is missing. */
function ifWhole(list: ProcessList, value: Reading<number>): Reading<number> {
  return list.state === "known" ? value : list.reason;
}

function ofMig({ account }: GpuView, read: (instance: MigInstance) => readonly GpuValue[]): GpuValue[] {
  if (account === undefined) return [];
  const { migInstances } = account.gpu;
  return migInstances.ok ? migInstances.value.flatMap(read) : [one(migInstances)];
}

/** Under the id of its GPU instance, so that memory that compute instances share is there once. */
function ofGpuInstance({ gpuInstance }: MigInstance, value: Reading<number>): GpuValue[] {
  return gpuInstance.ok ? [one(value, String(gpuInstance.value))] : [one(gpuInstance)];
}
