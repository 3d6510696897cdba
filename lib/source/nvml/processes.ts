import { absent, type Reading, valueOf } from "../../core/reading.ts";
import type { Bytes } from "../../core/units.ts";
import type { Context, ContextKind, ProcessList } from "../../model/gpu.ts";
import type { Nvml, NvmlSymbol } from "./calls.ts";
import { createCell } from "./cells.ts";
import { PROCESS_DETAIL, PROCESS_V1, PROCESS_V2 } from "./layouts.ts";
import {
  createRecordBuffer,
  decodeRecords,
  type ProcessRecord,
  type RecordLayout,
  type RecordLimits,
} from "./process_records.ts";
import { attempt, ImplausibleAnswer, NvmlError, STATUS } from "./status.ts";

/** The driver keeps a list for each kind of client. An MPS client is in its own list and not in the compute list. */
const KINDS = ["compute", "graphics", "mps"] as const;
type Kind = typeof KINDS[number];

/**
 * The calls for each list, the one to prefer first. `_v2` has written the same 24 bytes in every library since 450;
 * `_v3` wrote 32 for some drivers and was gone in 535.98; the oldest knows no MIG.
 */
const CALLS = {
  compute: [
    "nvmlDeviceGetComputeRunningProcesses_v2",
    "nvmlDeviceGetComputeRunningProcesses_v3",
    "nvmlDeviceGetComputeRunningProcesses",
  ],
  graphics: [
    "nvmlDeviceGetGraphicsRunningProcesses_v2",
    "nvmlDeviceGetGraphicsRunningProcesses_v3",
    "nvmlDeviceGetGraphicsRunningProcesses",
  ],
  mps: [
    "nvmlDeviceGetMPSComputeRunningProcesses_v2",
    "nvmlDeviceGetMPSComputeRunningProcesses_v3",
    "nvmlDeviceGetMPSComputeRunningProcesses",
  ],
} as const satisfies Record<Kind, readonly NvmlSymbol[]>;

const FIRST_CAPACITY = 64;
/** A count beyond any machine's: 2 MiB of records. */
const MOST_RECORDS = 65_536;
const ROUNDS = 5;
/** What the kernel module gives at most in one answer, without a word about the rest (ctrl2080gpu.h). */
const KERNEL_LIMIT = 950;

/** Reads the three process lists of one GPU and merges them: one context for a process and MIG instance. */
export function readProcessList(nvml: Nvml, device: bigint, limits: RecordLimits): ProcessList {
  const read = (kind: Kind) => attempt(() => readRecords(nvml, device, { kind, limits }));
  const lists = { compute: read("compute"), graphics: read("graphics"), mps: read("mps") };
  const absences = Object.values(lists).filter((list) => !list.ok);
  const lie = absences.find(({ why }) => why === "implausible");
  if (lie !== undefined) return { state: "unknown", reason: lie };

  const contexts = mergeRecords(
    KINDS.flatMap((kind) => (valueOf(lists[kind]) ?? []).map((record) => ({ kind, record }))),
  );
  if (!lists.compute.ok) {
    const reason = lists.compute;
    return contexts.length === 0 ? { state: "unknown", reason } : { state: "incomplete", contexts, reason };
  }
  // Without a graphics or an MPS list there is nothing that it could name. Every library has had the compute list.
  const reason = absences.find(({ why }) => why !== "not-supported");
  if (reason !== undefined) return { state: "incomplete", contexts, reason };
  if (Object.values(lists).some((list) => valueOf(list)?.length === KERNEL_LIMIT)) {
    const cut = absent("not-reported", `the driver lists at most ${KERNEL_LIMIT} processes of a GPU`);
    return { state: "incomplete", contexts, reason: cut };
  }
  return { state: "known", contexts };
}

function readRecords(
  nvml: Nvml,
  device: bigint,
  { kind, limits }: { kind: Kind; limits: RecordLimits },
): ProcessRecord[] {
  const symbol = CALLS[kind].find((symbol) => nvml.has(symbol)) ?? CALLS[kind][0];
  const size = createCell(4);
  let capacity = FIRST_CAPACITY;
  for (let round = 0; round < ROUNDS; round++) {
    const buffer = createRecordBuffer(capacity);
    size.view.setUint32(0, capacity, true);
    const status = nvml.status(symbol, device, size.bytes, buffer.bytes);
    const count = size.view.getUint32(0, true);
    if (status === STATUS.success && count <= capacity) {
      return decodeRecords(buffer, { count, expected: expectedLayout(nvml, symbol), limits });
    }
    if (status !== STATUS.success && status !== STATUS.insufficientSize) throw new NvmlError(symbol, status);
    if (status === STATUS.success || count > MOST_RECORDS) {
      throw new ImplausibleAnswer(`${symbol} counts ${count} processes with room for ${capacity}`);
    }
    // More may start between this answer and the next call, so ask for room to spare.
    capacity = Math.max(count, capacity) * 2 + 5;
  }
  throw new NvmlError(symbol, STATUS.insufficientSize);
}

function expectedLayout(nvml: Nvml, symbol: NvmlSymbol): RecordLayout {
  if (symbol.endsWith("_v2")) return PROCESS_V2;
  if (!symbol.endsWith("_v3")) return PROCESS_V1;
  // The drivers between the first confidential-computing calls and the detail list wrote the longer record.
  const isLong = nvml.has("nvmlDeviceGetConfComputeMemSizeInfo") &&
    !nvml.has("nvmlDeviceGetRunningProcessDetailList");
  return isLong ? PROCESS_DETAIL : PROCESS_V2;
}

interface Sighting {
  readonly kind: Kind;
  readonly record: ProcessRecord;
}

/**
 * A process with several kinds of work is in several lists, each with all its bytes: the most of them is right, their sum
 * is not.
 */
function mergeRecords(sightings: readonly Sighting[]): Context[] {
  const groups = new Map<string, { readonly kinds: Set<Kind>; record: ProcessRecord }>();
  for (const { kind, record } of sightings) {
    const key = `${record.pid} ${record.gpuInstance} ${record.computeInstance}`;
    const group = groups.get(key);
    if (group === undefined) {
      groups.set(key, { kinds: new Set([kind]), record });
    } else {
      group.kinds.add(kind);
      group.record = { ...record, used: larger(group.record.used, record.used) };
    }
  }
  return [...groups.values()].map(({ kinds, record: { pid, used, gpuInstance, computeInstance } }) => ({
    pid,
    kind: nameKinds(kinds),
    used,
    ...(gpuInstance !== undefined && { gpuInstance }),
    ...(computeInstance !== undefined && { computeInstance }),
  }));
}

function nameKinds(kinds: ReadonlySet<Kind>): ContextKind {
  if (kinds.has("mps")) return "mps-client";
  if (kinds.has("compute") && kinds.has("graphics")) return "compute+graphics";
  return kinds.has("graphics") ? "graphics" : "compute";
}

function larger(a: Reading<Bytes>, b: Reading<Bytes>): Reading<Bytes> {
  if (!a.ok) return b;
  return b.ok && b.value > a.value ? b : a;
}
