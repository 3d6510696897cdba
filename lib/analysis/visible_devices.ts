/** Which GPUs CUDA gives to a process with this CUDA_VISIBLE_DEVICES, in which order, and why the list ended where it did. */
import type { GpuUuid } from "../core/ids.ts";
import type { DriverReport, Gpu } from "../model/gpu.ts";
import {
  type BadEntry,
  isTooLong,
  readVisibleEntries,
  uuidDigits,
  type VisibleEntry,
} from "./visible_entries.ts";

/** What has to be known of a GPU to say which entry names it. */
export type VisibleGpu = Pick<Gpu, "index" | "uuid" | "name" | "migMode" | "migInstances">;

/** The machine as one process would see it with no variable set. Inside a container that is the container's own GPUs. */
export interface VisibleMachine extends Pick<DriverReport, "unreadableGpus"> {
  readonly gpus: readonly VisibleGpu[];
  /** The process's CUDA_DEVICE_ORDER, as it stands; `undefined` when it is not set. */
  readonly deviceOrder: string | undefined;
}

/** One CUDA device: a whole GPU, or a MIG device on one. */
export interface VisibleDevice {
  readonly gpu: GpuUuid;
  readonly mig?: GpuUuid;
}

/** An entry, with the device that it named. */
export interface NamedEntry {
  readonly entry: VisibleEntry;
  readonly device?: VisibleDevice;
}

/** Why CUDA read no further. */
export type ListEnd =
  /** Every entry was taken. */
  | "complete"
  /** The variable is not set: all GPUs. */
  | "unset"
  /** The value is longer than the driver reads; it is ignored whole: all GPUs. */
  | "too-long"
  /** The value is empty: no GPU. */
  | "no-value"
  /** CUDA_DEVICE_ORDER has a value that CUDA does not know: every call fails. */
  | "bad-device-order"
  /** A GPU stands in the list twice: every call fails. */
  | "duplicate"
  /** The machine has no GPU with that number. */
  | "out-of-range"
  /** No GPU has a UUID that begins so. */
  | "unknown-uuid"
  /** More than one has. */
  | "ambiguous-uuid"
  /** One process gets one MIG device; further entries are not read. */
  | "mig-limit"
  | BadEntry;

/** Why the answer might be another one on the real machine. */
export type VisibleDoubt =
  /** Numbers follow CUDA's guess of which GPU is fastest, and the models differ. CUDA_DEVICE_ORDER=PCI_BUS_ID settles it. */
  | "mixed-models"
  /** As above, where the models could not be read. */
  | "models-unread"
  /** The driver counts a GPU that it could not open: numbers may be shifted by it. */
  | "gpu-unread"
  /** A GPU has MIG on, or might: CUDA enumerates one MIG device, and which one a number names was never measured. */
  | "mig";

/** What CUDA makes of the variable. */
export interface VisibleDevices {
  /** What the process gets: CUDA's device 0 first. Each at most once. */
  readonly devices: readonly VisibleDevice[];
  /** Whether cuInit fails with an error (CUDA_ERROR_INVALID_DEVICE) rather than with "no device". */
  readonly isError: boolean;
  readonly end: ListEnd;
  /** The entries that were read, the one that ended the list included. */
  readonly entries: readonly NamedEntry[];
  /** Empty when the answer is certain. */
  readonly doubts: readonly VisibleDoubt[];
}

/** What CUDA makes of this value of CUDA_VISIBLE_DEVICES on this machine; `undefined` when it is not set. */
export function parseVisibleDevices(value: string | undefined, machine: VisibleMachine): VisibleDevices {
  const gpus = machine.gpus.toSorted((a, b) => a.index - b.index);
  if (!isKnownOrder(machine.deviceOrder)) return nothing("bad-device-order", { isError: true });
  if (value === undefined) return everything("unset", { ...machine, gpus });
  if (isTooLong(value)) return everything("too-long", { ...machine, gpus });
  if (value === "") return nothing("no-value", { isError: false });
  const { end, entries } = nameEntries(readVisibleEntries(value), gpus);
  const isError = end === "duplicate";
  const devices = isError ? [] : entries.flatMap(({ device }) => device ?? []);
  return { devices, isError, end, entries, doubts: doubtsOf(entries, { ...machine, gpus }) };
}

function nameEntries(
  read: readonly VisibleEntry[],
  gpus: readonly VisibleGpu[],
): { readonly end: ListEnd; readonly entries: readonly NamedEntry[] } {
  const entries: NamedEntry[] = [];
  const taken = new Set<GpuUuid>();
  let hasMig = false;
  for (const entry of read) {
    const named = nameEntry(entry, gpus);
    if (typeof named === "string") return { end: named, entries: [...entries, { entry }] };
    const key = named.mig ?? named.gpu;
    if (taken.has(key)) return { end: "duplicate", entries: [...entries, { entry }] };
    if (hasMig) return { end: "mig-limit", entries: [...entries, { entry }] };
    hasMig ||= named.mig !== undefined;
    taken.add(key);
    entries.push({ entry, device: named });
  }
  return { end: "complete", entries };
}

function nameEntry(entry: VisibleEntry, gpus: readonly VisibleGpu[]): VisibleDevice | ListEnd {
  if (entry.kind === "bad") return entry.why;
  if (entry.kind === "number") {
    const gpu = gpus[entry.number];
    return gpu ? deviceOf(gpu) : "out-of-range";
  }
  const migs = gpus.flatMap((gpu) => migsOf(gpu).map((mig) => ({ gpu: gpu.uuid, mig })));
  if (entry.kind === "mig-path") {
    const found = migs.find(({ gpu, mig }) =>
      mig.uuid === entry.text ||
      uuidDigits(gpu) === entry.digits && mig.gpuInstance.ok && mig.computeInstance.ok &&
        mig.gpuInstance.value === entry.gpuInstance && mig.computeInstance.value === entry.computeInstance
    );
    return found ? { gpu: found.gpu, mig: found.mig.uuid } : "unknown-uuid";
  }
  const named = entry.prefix === "MIG-"
    ? migs.filter(({ mig }) => uuidDigits(mig.uuid).startsWith(entry.digits))
      .map(({ gpu, mig }) => ({ gpu, mig: mig.uuid }))
    : [];
  // Where no MIG device has that UUID, `MIG-` with the digits of a GPU names the GPU (seen without MIG).
  const candidates = named.length > 0
    ? named
    : gpus.filter(({ uuid }) => uuidDigits(uuid).startsWith(entry.digits)).map(deviceOf);
  const [first, second] = candidates;
  if (first === undefined) return "unknown-uuid";
  return second === undefined ? first : "ambiguous-uuid";
}

function everything(end: ListEnd, machine: VisibleMachine): VisibleDevices {
  const all = machine.gpus.map(deviceOf);
  // Of several MIG devices CUDA enumerates the first (MIG user guide, "CUDA device enumeration").
  const firstMig = all.find(({ mig }) => mig !== undefined);
  const devices = all.filter((device) => device.mig === undefined || device === firstMig);
  return { devices, isError: false, end, entries: [], doubts: doubtsOf([], machine) };
}

function nothing(end: ListEnd, { isError }: Pick<VisibleDevices, "isError">): VisibleDevices {
  return { devices: [], isError, end, entries: [], doubts: [] };
}

/** With no entries at all, every GPU is meant. */
function doubtsOf(entries: readonly NamedEntry[], machine: VisibleMachine): readonly VisibleDoubt[] {
  const { gpus, unreadableGpus, deviceOrder } = machine;
  const doubts: VisibleDoubt[] = [];
  const isAll = entries.length === 0;
  const isByNumber = entries.some(({ entry }) => entry.kind === "number");
  if (isByNumber && gpus.length > 1 && deviceOrder !== "PCI_BUS_ID") {
    const names = new Set(gpus.map(({ name }) => name.ok ? name.value : undefined));
    if (names.has(undefined)) doubts.push("models-unread");
    else if (names.size > 1) doubts.push("mixed-models");
  }
  const isUnnamed = entries.some(({ device, entry }) => device === undefined && entry.kind !== "bad");
  if (unreadableGpus.length > 0 && (isAll || isByNumber || isUnnamed)) doubts.push("gpu-unread");
  const isWholeGpu = entries.some(({ device, entry }) =>
    entry.kind === "number" || device !== undefined && !isMigEntry(entry)
  );
  if (gpus.some(mayHaveMig) && (isAll || isWholeGpu)) doubts.push("mig");
  return doubts;
}

function isMigEntry(entry: VisibleEntry): boolean {
  return entry.kind === "mig-path" || entry.kind === "uuid" && entry.prefix === "MIG-";
}

function mayHaveMig({ migMode, migInstances }: VisibleGpu): boolean {
  if (migMode.ok) return migMode.value.current;
  return migInstances.ok ? migInstances.value.length > 0 : migMode.why !== "not-supported";
}

function migsOf(gpu: VisibleGpu) {
  return gpu.migInstances.ok ? gpu.migInstances.value : [];
}

/** A GPU as CUDA enumerates it: with MIG on, its first MIG device stands for it. */
function deviceOf(gpu: VisibleGpu): VisibleDevice {
  const [mig] = migsOf(gpu);
  return mig ? { gpu: gpu.uuid, mig: mig.uuid } : { gpu: gpu.uuid };
}

/** Case and every character count: `pci_bus_id` and the empty text made cuInit fail on driver 580.159.04. */
function isKnownOrder(order: string | undefined): boolean {
  return order === undefined || order === "PCI_BUS_ID" || order === "FASTEST_FIRST";
}
