/** The columns of a snapshot, each said once: title and cell for people, key and value for programs. */
import type { GpuUuid } from "../core/ids.ts";
import { formatRanges } from "../core/ranges.ts";
import { type Reading, valueOf } from "../core/reading.ts";
import { printable, quoteArguments } from "../core/text.ts";
import { type Bytes, bytes, formatBytes } from "../core/units.ts";
import { contextsOf } from "../model/gpu.ts";
import type { GpuAccount, Holder, HolderClass, Snapshot } from "../model/snapshot.ts";
import type { Field } from "./csv.ts";
import type { Tone } from "./colour.ts";
import type { Column } from "./table.ts";

/** Stands in a table for a value that is not known. Never for one that is 0. */
export const UNKNOWN = "?";
/** Stands in a table for none at all. */
export const NONE = "-";

/** The indexes by which people call GPUs. */
export type GpuNames = ReadonlyMap<GpuUuid, number>;

/** The names of a snapshot's GPUs. */
export function nameGpus(snapshot: Snapshot): GpuNames {
  return new Map(snapshot.gpus.map(({ gpu }) => [gpu.uuid, gpu.index]));
}

/** Names some GPUs in short: `0-3,7`; one that has no index by the beginning of its UUID. */
export function formatGpus(uuids: Iterable<GpuUuid>, names: GpuNames): string {
  const all = [...new Set(uuids)];
  const indexes = all.flatMap((uuid) => names.get(uuid) ?? []);
  const strangers = all.filter((uuid) => !names.has(uuid)).map((uuid) => printable(uuid.slice(0, 12)));
  return [...formatRanges(indexes), ...strangers].join(",");
}

/** Names a MIG device by its GPU and its GPU and compute instance: `0/7/0`. */
export function formatMigPlace(index: number, ids: readonly (number | string)[]): string {
  return [index, ...ids].join("/");
}

type BothFaces<Row> = Column<Row> & Field<Row>;

/** One line a GPU. */
export const GPU_COLUMNS: readonly BothFaces<GpuAccount>[] = [
  {
    title: "GPU",
    align: "right",
    cell: ({ gpu }) => String(gpu.index),
    key: "gpuIndex",
    value: ({ gpu }) => gpu.index,
  },
  {
    title: "NAME",
    align: "left",
    cell: ({ gpu }) => valueOf(gpu.name) ?? UNKNOWN,
    key: "gpuName",
    value: ({ gpu }) => valueOf(gpu.name) ?? null,
  },
  {
    title: "USED",
    align: "right",
    cell: ({ gpu }) => cellOfBytes(gpu.memoryUsed),
    key: "memoryUsedBytes",
    value: ({ gpu }) => valueOf(gpu.memoryUsed) ?? null,
  },
  {
    title: "TOTAL",
    align: "right",
    cell: ({ gpu }) => cellOfBytes(gpu.memoryTotal),
    key: "memoryTotalBytes",
    value: ({ gpu }) => valueOf(gpu.memoryTotal) ?? null,
  },
  {
    title: "UNATTRIBUTED",
    align: "right",
    cell: ({ unattributed }) => cellOfBytes(unattributed, NONE),
    tone: ({ cause }) => cause === undefined ? "plain" : "yellow",
    key: "unattributedBytes",
    value: ({ unattributed }) => valueOf(unattributed) ?? null,
  },
  {
    title: "CONTEXTS",
    align: "right",
    cell: ({ gpu }) => CONTEXT_COUNT[gpu.processList.state](contextsOf(gpu.processList).length),
    tone: ({ gpu }) => gpu.processList.state === "known" ? "plain" : "yellow",
    key: "processList",
    value: ({ gpu }) => gpu.processList.state,
  },
];

const CONTEXT_COUNT: Readonly<Record<GpuAccount["gpu"]["processList"]["state"], (count: number) => string>> =
  {
    known: (count) => count === 0 ? NONE : String(count),
    incomplete: (count) => `${count}+${UNKNOWN}`,
    unknown: () => UNKNOWN,
  };

/** How busy each GPU is, for when it was asked. */
export const UTILIZATION_COLUMN: BothFaces<GpuAccount> = {
  title: "BUSY",
  align: "right",
  cell: ({ gpu }) => gpu.utilization.ok ? `${Math.round(gpu.utilization.value)} %` : UNKNOWN,
  key: "utilizationPercent",
  value: ({ gpu }) => valueOf(gpu.utilization) ?? null,
};

/** What is the same for a holder on all its GPUs. The table puts its GPUs and its memory after the user. */
export const HOLDER_COLUMNS = {
  pid: {
    title: "PID",
    align: "right",
    cell: ({ pid }) => String(pid),
    key: "pid",
    value: ({ pid }) => pid,
  },
  user: {
    title: "USER",
    align: "left",
    cell: ({ user, uid }) => valueOf(user) ?? valueOf(uid)?.toString() ?? UNKNOWN,
    key: "user",
    value: ({ user }) => valueOf(user) ?? null,
  },
  state: {
    title: "STATE",
    align: "left",
    cell: ({ state }) => valueOf(state) ?? UNKNOWN,
    key: "state",
    value: ({ state }) => valueOf(state) ?? null,
  },
  class: {
    title: "CLASS",
    align: "left",
    cell: (holder) => holder.class,
    tone: (holder) => CONCERN_TONE[CONCERNS[holder.class]],
    key: "class",
    value: (holder) => holder.class,
  },
  command: {
    title: "COMMAND",
    align: "left",
    cell: formatShortCommand,
    isCutFirst: true,
    key: "command",
    value: ({ argv }) => argv.ok ? quoteArguments(argv.value) : null,
  },
} as const satisfies Record<string, BothFaces<Holder>>;

/** What a class asks of the reader: to clean up, to look closer, or nothing. */
export type Concern = "left-behind" | "unclear" | "in-use";

/** A new class does not compile until it has a place here. */
export const CONCERNS = {
  "zombie-leader": "left-behind",
  inherited: "left-behind",
  "job-leftover": "left-behind",
  orphan: "left-behind",
  stuck: "unclear",
  stopped: "unclear",
  exiting: "unclear",
  unknown: "unclear",
  foreign: "in-use",
  display: "in-use",
  "mps-server": "in-use",
  service: "in-use",
  monitor: "in-use",
  detached: "in-use",
  live: "in-use",
} as const satisfies Record<HolderClass, Concern>;

const CONCERN_TONE: Readonly<Record<Concern, Tone>> = {
  "left-behind": "red",
  unclear: "yellow",
  "in-use": "plain",
};

/**
 * A holder's command for a narrow place: without the folder of its program, which every other format has; its short name
 * in brackets where there are no arguments, as ps(1) shows it.
 */
export function formatShortCommand({ argv, name }: Pick<Holder, "argv" | "name">): string {
  if (!argv.ok || argv.value[0] === undefined) return `[${name}]`;
  const [program, ...words] = argv.value;
  const isPath = /^\/\S*[^/\s]$/.test(program);
  return quoteArguments([isPath ? program.slice(program.lastIndexOf("/") + 1) : program, ...words]);
}

/** Bytes of several together. Those of a file need not be plausible: a sum that no machine can have is said to be one. */
export function formatSum(counts: readonly Bytes[]): string {
  const sum = counts.reduce((total, count) => total + count, 0);
  return Number.isSafeInteger(sum) ? formatBytes(bytes(sum)) : "over 8192 TiB";
}

/** Bytes in a table. `zero` is what stands for none, where nought is better left out. */
export function cellOfBytes(reading: Reading<Bytes>, zero?: string): string {
  if (!reading.ok) return UNKNOWN;
  return reading.value === 0 && zero !== undefined ? zero : formatBytes(reading.value);
}
