/** The small buffers that NVML writes its answers into, and how they are read back. */
import type { NativeArg } from "../../native/dlopen.ts";
import type { Nvml, NvmlSymbol } from "./calls.ts";

/** A buffer to pass to a call, and the view to read what the call wrote. Aligned to 8 bytes as every ArrayBuffer is. */
export interface Cell {
  readonly bytes: Uint8Array;
  readonly view: DataView;
}

/** A buffer of zeros. */
export function createCell(size: number): Cell {
  const buffer = new ArrayBuffer(size);
  return { bytes: new Uint8Array(buffer), view: new DataView(buffer) };
}

/** @throws {NvmlError} */
export function readU32(nvml: Nvml, symbol: NvmlSymbol, ...args: NativeArg[]): number {
  const cell = createCell(4);
  nvml.call(symbol, ...args, cell.bytes);
  return cell.view.getUint32(0, true);
}

/**
 * A handle is a pointer of the library's, which is passed back unchanged.
 *
 * @throws {NvmlError}
 */
export function readHandle(nvml: Nvml, symbol: NvmlSymbol, ...args: NativeArg[]): bigint {
  const cell = createCell(8);
  nvml.call(symbol, ...args, cell.bytes);
  return cell.view.getBigUint64(0, true);
}

/**
 * @param length of the buffer; a text that fills it is cut there.
 * @throws {NvmlError}
 */
export function readText(
  nvml: Nvml,
  symbol: NvmlSymbol,
  length: number,
  ...args: NativeArg[]
): string {
  const cell = createCell(length);
  nvml.call(symbol, ...args, cell.bytes, length);
  return decodeText(cell.bytes);
}

/** The text before the first NUL. Bytes that are not UTF-8 become U+FFFD: some drivers give 0xf8 bytes for a name. */
export function decodeText(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return new TextDecoder().decode(end < 0 ? bytes : bytes.subarray(0, end));
}
