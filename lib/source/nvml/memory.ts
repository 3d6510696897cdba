import { absent, known, mapReading, type Reading } from "../../core/reading.ts";
import { type Bytes, bytes } from "../../core/units.ts";
import type { Gpu } from "../../model/gpu.ts";
import type { Nvml } from "./calls.ts";
import { type Cell, createCell } from "./cells.ts";
import { MEMORY_V1, MEMORY_V2 } from "./layouts.ts";
import { attempt, believe, ImplausibleAnswer, NvmlError, STATUS } from "./status.ts";

/** A GPU's memory numbers, or those of one MIG device. */
export type MemoryReadings = Pick<
  Gpu,
  "memoryTotal" | "memoryUsed" | "memoryReserved" | "memoryFree" | "usedIncludesReserve"
>;

interface Memory {
  readonly total: Bytes;
  readonly used: Bytes;
  readonly free: Bytes;
  /** Only version 2 tells it. */
  readonly reserved: Reading<Bytes>;
  readonly usedIncludesReserve: boolean;
}

/** Statuses by which a library says that it does not know version 2 of the struct. */
const NO_VERSION_2: readonly number[] = [STATUS.functionNotFound, STATUS.argumentVersionMismatch];

/**
 * Reads the memory of one device by version 2, which tells the driver's reserve apart, or by version 1 where that is all
 * there is.
 */
export function readMemory(nvml: Nvml, device: bigint): MemoryReadings {
  const memory = attempt(() => readNewestMemory(nvml, device));
  const reserved = mapReading(memory, ({ reserved }) => reserved);
  return {
    memoryTotal: mapReading(memory, ({ total }) => total),
    memoryUsed: mapReading(memory, ({ used }) => used),
    memoryReserved: reserved.ok ? reserved.value : reserved,
    memoryFree: mapReading(memory, ({ free }) => free),
    usedIncludesReserve: mapReading(memory, ({ usedIncludesReserve }) => usedIncludesReserve),
  };
}

function readNewestMemory(nvml: Nvml, device: bigint): Memory {
  const cell = createCell(MEMORY_V2.size);
  cell.view.setUint32(MEMORY_V2.version, MEMORY_V2.versionWord, true);
  const status = nvml.status("nvmlDeviceGetMemoryInfo_v2", device, cell.bytes);
  if (NO_VERSION_2.includes(status)) return readMemoryV1(nvml, device);
  if (status !== STATUS.success) throw new NvmlError("nvmlDeviceGetMemoryInfo_v2", status);
  return decodeMemoryV2(cell);
}

function decodeMemoryV2({ view }: Cell): Memory {
  const total = checkTotal(view.getBigUint64(MEMORY_V2.total, true));
  const used = checkPart(view.getBigUint64(MEMORY_V2.used, true), { total, name: "used" });
  const free = checkPart(view.getBigUint64(MEMORY_V2.free, true), { total, name: "free" });
  const reserved = checkPart(view.getBigUint64(MEMORY_V2.reserved, true), { total, name: "reserved" });
  // The parts make up the whole. One text of NVIDIA's says that `used` holds the reserve; then two of them do.
  const apart = Math.abs(total - (used + free + reserved));
  const together = Math.abs(total - (used + free));
  return { total, used, free, reserved: known(reserved), usedIncludesReserve: together < apart };
}

function readMemoryV1(nvml: Nvml, device: bigint): Memory {
  const { bytes, view } = createCell(MEMORY_V1.size);
  nvml.call("nvmlDeviceGetMemoryInfo", device, bytes);
  const total = checkTotal(view.getBigUint64(MEMORY_V1.total, true));
  return {
    total,
    used: checkPart(view.getBigUint64(MEMORY_V1.used, true), { total, name: "used" }),
    free: checkPart(view.getBigUint64(MEMORY_V1.free, true), { total, name: "free" }),
    reserved: absent("not-supported", "nvmlDeviceGetMemoryInfo does not tell the driver's reserve apart"),
    usedIncludesReserve: true,
  };
}

/** A GPU that needs a reset may say 0 for everything, which is no memory at all rather than free memory. */
function checkTotal(total: bigint): Bytes {
  if (total === 0n) throw new ImplausibleAnswer("the driver says that the GPU has 0 bytes of memory");
  return believe(() => bytes(total));
}

function checkPart(part: bigint, { total, name }: { total: Bytes; name: string }): Bytes {
  if (part > BigInt(total)) {
    throw new ImplausibleAnswer(`the driver says that ${part} of ${total} bytes of memory are ${name}`);
  }
  return bytes(part);
}
