import { isPid, type Pid } from "../../core/ids.ts";
import { absent, known, type Reading } from "../../core/reading.ts";
import { type Bytes, bytes } from "../../core/units.ts";
import type { AccountedProcess } from "../../model/accounting.ts";
import type { Nvml } from "./calls.ts";
import { createCell } from "./cells.ts";
import { ACCOUNTING_STATS } from "./layouts.ts";
import { attempt, ImplausibleAnswer, NvmlError, STATUS } from "./status.ts";
import { readSwitch } from "./switches.ts";

/** NVML_VALUE_NOT_AVAILABLE as an unsigned 64-bit number. */
const NOT_AVAILABLE = 0xffff_ffff_ffff_ffffn;
/** Drivers keep 4000 records; a count beyond this is none. */
const MOST_RECORDS = 65_536;

/** Reads the record of one GPU; `not-supported` where accounting mode is off, which says nothing of who used it. */
export function readAccounting(nvml: Nvml, device: bigint): Reading<readonly AccountedProcess[]> {
  const mode = readSwitch(nvml, "nvmlDeviceGetAccountingMode", device);
  if (!mode.ok) return mode;
  if (!mode.value) return absent("not-supported", "accounting mode is off");
  return attempt(() => readPids(nvml, device).flatMap((pid) => readRecord(nvml, device, pid)));
}

function readPids(nvml: Nvml, device: bigint): Pid[] {
  const symbol = "nvmlDeviceGetAccountingPids";
  const size = createCell(4);
  const first = nvml.status(symbol, device, size.bytes, createCell(4).bytes);
  const count = size.view.getUint32(0, true);
  if (first === STATUS.success) return [];
  if (first !== STATUS.insufficientSize) throw new NvmlError(symbol, first);
  if (count > MOST_RECORDS) throw new ImplausibleAnswer(`the driver counts ${count} accounted processes`);
  // More may have ended between this call and the next.
  const { bytes: buffer, view } = createCell((count + 64) * 4);
  size.view.setUint32(0, count + 64, true);
  nvml.call(symbol, device, size.bytes, buffer);
  const found = Math.min(size.view.getUint32(0, true), count + 64);
  return Array.from({ length: found }, (_, place) => view.getUint32(place * 4, true)).filter(isPid);
}

/** A record that was overwritten since its pid was listed is none. */
function readRecord(nvml: Nvml, device: bigint, pid: Pid): AccountedProcess[] {
  const { bytes: buffer, view } = createCell(ACCOUNTING_STATS.size);
  const symbol = "nvmlDeviceGetAccountingStats";
  const status = nvml.status(symbol, device, pid, buffer);
  if (status === STATUS.notFound) return [];
  if (status !== STATUS.success) throw new NvmlError(symbol, status);
  return [{
    pid,
    startedAt: Number(view.getBigUint64(ACCOUNTING_STATS.startTime, true)),
    peak: readPeak(view.getBigUint64(ACCOUNTING_STATS.maxMemoryUsage, true)),
    isRunning: view.getUint32(ACCOUNTING_STATS.isRunning, true) !== 0,
  }];
}

function readPeak(value: bigint): Reading<Bytes> {
  if (value === NOT_AVAILABLE) return absent("not-reported");
  return value > Number.MAX_SAFE_INTEGER ? absent("implausible", `${value} bytes`) : known(bytes(value));
}
