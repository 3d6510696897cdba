import { type BusId, parseBusId } from "../../core/ids.ts";
import type { NativeArg } from "../../native/dlopen.ts";
import type { Nvml } from "./calls.ts";
import { createCell, decodeText } from "./cells.ts";
import { PCI_INFO } from "./layouts.ts";
import { believe } from "./status.ts";

/** The calls that write an nvmlPciInfo_t of 68 bytes. */
type PciCall = "nvmlDeviceGetPciInfo_v3" | "nvmlDeviceGetNvLinkRemotePciInfo_v2";

/**
 * Reads a PCI address out of an nvmlPciInfo_t.
 *
 * @throws {NvmlError}
 * @throws {ImplausibleAnswer}
 */
export function readBusId(nvml: Nvml, symbol: PciCall, ...args: NativeArg[]): BusId {
  const { bytes } = createCell(PCI_INFO.size);
  nvml.call(symbol, ...args, bytes);
  const text = decodeText(bytes.subarray(PCI_INFO.busId, PCI_INFO.busId + PCI_INFO.busIdLength));
  return believe(() => parseBusId(text));
}
