/** The snapshot file as others read it: every key with its unit in its name. */
import * as v from "valibot";
import { WHYS } from "../../core/reading.ts";
import { COMPUTE_MODES, CONTEXT_KINDS, RECOVERY_ACTIONS } from "../gpu.ts";
import { SOURCE_NAMES } from "../snapshot.ts";
import { GHOST, GHOST_PARTS, HOLDER, HOLDER_PARTS } from "./holder.ts";
import { PROBLEM, PROBLEMS } from "./problem.ts";
import {
  added,
  BUS_ID,
  BYTES,
  COUNT,
  described,
  FLAG,
  GPU_INDEX,
  GPU_UUID,
  INSTANT,
  list,
  MINOR,
  NULLABLE_TEXT,
  oneOf,
  PERCENT,
  PID,
  record,
  SIMULATED,
  versionOf,
} from "./values.ts";

/** Name and major version of the format. Keys may be added within a version; none changes its meaning. */
export const SNAPSHOT_SCHEMA_NAME = "gpuctl.snapshot/1";

const CONTEXT = record({
  pid: described(PID, "May be dead: it names who allocated, not who holds"),
  kind: described(oneOf(CONTEXT_KINDS), "nvidia-smi's C, G, C+G and M+C"),
  contextBytes: described(v.nullable(BYTES), "Bytes of the context"),
  gpuInstance: described(v.nullable(COUNT), "MIG GPU instance; null without MIG"),
  computeInstance: described(v.nullable(COUNT), "MIG compute instance; null without MIG"),
  name: described(NULLABLE_TEXT, "The name that the source printed beside the pid; null if it prints none"),
});

const MIG_INSTANCE = record({
  uuid: described(GPU_UUID, "UUID of the MIG device"),
  gpuInstance: described(v.nullable(COUNT), "GPU instance"),
  computeInstance: described(v.nullable(COUNT), "Compute instance"),
  profile: described(NULLABLE_TEXT, "Profile, such as 1g.18gb"),
  memoryTotalBytes: described(v.nullable(BYTES), "Bytes of the GPU instance"),
  memoryUsedBytes: described(v.nullable(BYTES), "Bytes of the GPU instance in use"),
});

const MIG_MODE = record({
  current: described(FLAG, "In force now"),
  pending: described(FLAG, "In force from the next reset"),
});

const GPU = record({
  index: GPU_INDEX,
  uuid: GPU_UUID,
  name: described(NULLABLE_TEXT, "Product name"),
  busId: described(v.nullable(BUS_ID), "PCI address"),
  minor: described(v.nullable(MINOR), "The N of /dev/nvidiaN; need not equal the index"),
  memoryTotalBytes: described(v.nullable(BYTES), "Bytes there are"),
  memoryUsedBytes: described(v.nullable(BYTES), "Bytes in use, as the driver says"),
  memoryReservedBytes: described(v.nullable(BYTES), "Bytes that the driver keeps for itself"),
  memoryFreeBytes: described(v.nullable(BYTES), "Bytes that are free"),
  unattributedBytes: described(v.nullable(BYTES), "Used bytes that no context explains"),
  unattributedCause: described(NULLABLE_TEXT, "The likely cause; null when there is nothing to explain"),
  usedIncludesReserve: described(
    v.nullable(FLAG),
    "Whether memoryUsedBytes counts the driver's reserve; never compare across",
  ),
  utilizationPercent: described(
    v.nullable(PERCENT),
    "Percent of the time that kernels ran; asked with --utilization",
  ),
  persistenceMode: described(v.nullable(FLAG), "The driver stays loaded without clients"),
  computeMode: described(v.nullable(oneOf(COMPUTE_MODES)), "How many processes may use it"),
  displayActive: described(v.nullable(FLAG), "A display is driven by it"),
  migMode: described(v.nullable(MIG_MODE), "Whether it is cut into MIG devices"),
  migInstances: described(v.nullable(list(MIG_INSTANCE)), "Its MIG devices"),
  recoveryAction: described(v.nullable(oneOf(RECOVERY_ACTIONS)), "What the driver asks for to repair it"),
  processList: described(
    oneOf(["known", "incomplete", "unknown"]),
    "What `contexts` is worth. The reason stands in problems, at the place of `contexts`",
  ),
  contexts: described(v.nullable(list(CONTEXT)), "null, never [], when the list is unknown"),
});

const UNREADABLE_GPU = record({
  index: GPU_INDEX,
  why: described(oneOf(WHYS), "The kind of reason: lost where it has fallen off the bus"),
  detail: described(NULLABLE_TEXT, "A status name, the driver's own words; null if there are none"),
});

const HOST = record({
  name: described(NULLABLE_TEXT, "Host name"),
  bootId: described(
    NULLABLE_TEXT,
    "Of /proc/sys/kernel/random/boot_id; start times compare only within a boot",
  ),
  kernel: described(NULLABLE_TEXT, "Kernel release"),
});

const DRIVER = record({
  version: described(NULLABLE_TEXT, "Version of the kernel module"),
  libraryVersion: described(NULLABLE_TEXT, "Version of libnvidia-ml"),
  cudaVersion: described(NULLABLE_TEXT, "Highest CUDA version that this driver runs"),
});

/** A snapshot file. A missing value is null, and its reason stands in `problems`. */
export const SNAPSHOT_SCHEMA = record({
  schema: versionOf(SNAPSHOT_SCHEMA_NAME),
  takenAt: described(
    v.nullable(INSTANT),
    "When the look was taken, ISO 8601 in UTC; null where a saved text gives no time, or none of a known zone",
  ),
  source: described(oneOf(SOURCE_NAMES), "Where it comes from; proc is a look without a driver"),
  simulated: SIMULATED,
  host: described(HOST, "The machine"),
  driver: described(v.nullable(DRIVER), "The driver; null when it gave no answer"),
  gpus: described(list(GPU), "Every GPU that could be read"),
  unreadableGpus: described(
    added(list(UNREADABLE_GPU)),
    "GPUs that the driver counts and could not open; null in documents of versions that did not say",
  ),
  holders: described(list(HOLDER), "Every live process that has a GPU open or mapped, or is listed"),
  ghosts: described(list(GHOST), "Contexts of processes that are dead"),
  problems: PROBLEMS,
});

export type SnapshotJson = v.InferOutput<typeof SNAPSHOT_SCHEMA>;
export type GpuJson = v.InferOutput<typeof GPU>;
export type ContextJson = v.InferOutput<typeof CONTEXT>;
export type MigInstanceJson = v.InferOutput<typeof MIG_INSTANCE>;

/** Definitions that the published schema names. */
export const SNAPSHOT_PARTS = {
  gpu: GPU,
  unreadableGpu: UNREADABLE_GPU,
  context: CONTEXT,
  migInstance: MIG_INSTANCE,
  ...HOLDER_PARTS,
  ...GHOST_PARTS,
  problem: PROBLEM,
};
