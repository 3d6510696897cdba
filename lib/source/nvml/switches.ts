import type { Reading } from "../../core/reading.ts";
import type { Nvml, NvmlSymbol } from "./calls.ts";
import { readU32 } from "./cells.ts";
import { attempt, ImplausibleAnswer } from "./status.ts";

/** Reads something that is on or off (nvmlEnableState_t). */
export function readSwitch(nvml: Nvml, symbol: NvmlSymbol, device: bigint): Reading<boolean> {
  return attempt(() => {
    const value = readU32(nvml, symbol, device);
    if (value > 1) throw new ImplausibleAnswer(`${symbol} gives ${value}, which is neither on nor off`);
    return value === 1;
  });
}
