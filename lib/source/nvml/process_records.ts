/** One process list as the driver writes it: its record size proven, its sentinels decoded, its numbers checked. */
import { isPid, type Pid } from "../../core/ids.ts";
import { absent, known, type Reading } from "../../core/reading.ts";
import { type Bytes, bytes } from "../../core/units.ts";
import { type Cell, createCell } from "./cells.ts";
import { PROCESS_DETAIL, PROCESS_V1, PROCESS_V2 } from "./layouts.ts";
import { believe, ImplausibleAnswer } from "./status.ts";

/** One line of one list. */
export interface ProcessRecord {
  readonly pid: Pid;
  readonly used: Reading<Bytes>;
  readonly gpuInstance: number | undefined;
  readonly computeInstance: number | undefined;
}

/** What no record may exceed. */
export interface RecordLimits {
  /** One more than the largest pid: /proc/sys/kernel/pid_max. */
  readonly pidLimit: number;
  /** All memory of the card, where it is known. */
  readonly memoryTotal: Reading<Bytes>;
}

export type RecordLayout = typeof PROCESS_V1 | typeof PROCESS_V2 | typeof PROCESS_DETAIL;

const LAYOUTS: readonly RecordLayout[] = [PROCESS_V1, PROCESS_V2, PROCESS_DETAIL];
/** No field at the end of a record has this for its last byte: sizes and ids end in 0x00 or 0xff. */
const UNTOUCHED = 0xa5;
/** NVML_VALUE_NOT_AVAILABLE of a 64-bit field. */
const SIZE_NOT_AVAILABLE = 0xffff_ffff_ffff_ffffn;
/** What the instance ids are where the GPU is not divided. */
const NO_INSTANCE = 0xffff_ffff;

/**
 * Room for `capacity` records of the largest kind, filled so that what the driver writes can be told from what it leaves.
 */
export function createRecordBuffer(capacity: number): Cell {
  const cell = createCell(capacity * PROCESS_DETAIL.size);
  cell.bytes.fill(UNTOUCHED);
  return cell;
}

/**
 * Decodes the records that the driver wrote into a buffer of `createRecordBuffer`.
 *
 * @param expected the layout that the called symbol should write. Where the driver wrote another one, that is used.
 * @throws {ImplausibleAnswer} if one record cannot be true: then none is believed.
 */
export function decodeRecords(
  buffer: Cell,
  { count, expected, limits }: { count: number; expected: RecordLayout; limits: RecordLimits },
): ProcessRecord[] {
  const layout = proveLayout(buffer.bytes, { count, expected });
  return Array.from(
    { length: count },
    (_, index) =>
      decodeRecord(new DataView(buffer.view.buffer, index * layout.size, layout.size), layout, limits),
  );
}

/** Finds the record size from how far the driver wrote: the same symbol has had two (drivers 535.43.02 to 535.86). */
function proveLayout(
  buffer: Uint8Array,
  { count, expected }: { count: number; expected: RecordLayout },
): RecordLayout {
  if (count === 0) return expected;
  const capacity = buffer.length / PROCESS_DETAIL.size;
  let written = buffer.length;
  while (written > 0 && buffer[written - 1] === UNTOUCHED) written--;
  // A library that clears all the room it was given writes to its end, by its own idea of a record.
  if (written === count * expected.size || written === capacity * expected.size) return expected;
  const layout = LAYOUTS.find(({ size }) => written === count * size);
  if (layout === undefined) {
    throw new ImplausibleAnswer(
      `the driver wrote ${written} bytes for ${count} processes, which no known record size explains`,
    );
  }
  return layout;
}

function decodeRecord(view: DataView, layout: RecordLayout, limits: RecordLimits): ProcessRecord {
  const pid = view.getUint32(layout.pid, true);
  if (!isPid(pid) || pid >= limits.pidLimit) {
    throw new ImplausibleAnswer(`the driver lists a process ${pid}, and none can have that pid`);
  }
  const divided = "gpuInstanceId" in layout;
  return {
    pid,
    used: decodeUsed(view.getBigUint64(layout.usedGpuMemory, true), limits.memoryTotal),
    gpuInstance: divided ? decodeInstance(view.getUint32(layout.gpuInstanceId, true)) : undefined,
    computeInstance: divided ? decodeInstance(view.getUint32(layout.computeInstanceId, true)) : undefined,
  };
}

function decodeUsed(used: bigint, total: Reading<Bytes>): Reading<Bytes> {
  if (used === SIZE_NOT_AVAILABLE) return absent("not-reported", "the driver gives no size for this process");
  if (total.ok && used > BigInt(total.value)) {
    throw new ImplausibleAnswer(
      `the driver lists a process with ${used} bytes, and the GPU has ${total.value}`,
    );
  }
  return known(believe(() => bytes(used)));
}

function decodeInstance(id: number): number | undefined {
  return id === NO_INSTANCE ? undefined : id;
}
