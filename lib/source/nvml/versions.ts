import { readFileSync } from "node:fs";
import type { Driver } from "../../model/gpu.ts";
import type { Nvml } from "./calls.ts";
import { createCell, readText } from "./cells.ts";
import { TEXT } from "./layouts.ts";
import { attempt, ImplausibleAnswer } from "./status.ts";

/** What the driver says of itself. */
export function readDriver(nvml: Nvml): Driver {
  return {
    version: attempt(() =>
      requireVersion(readText(nvml, "nvmlSystemGetDriverVersion", TEXT.driverVersion), "driver version")
    ),
    libraryVersion: attempt(() => readLibraryVersion(nvml)),
    cudaVersion: attempt(() => readCudaVersion(nvml)),
  };
}

/**
 * libnvidia-ml's own version, spelt as the kernel module spells its.
 *
 * @throws {NvmlError}
 */
export function readLibraryVersion(nvml: Nvml): string {
  const version = readText(nvml, "nvmlSystemGetNVMLVersion", TEXT.nvmlVersion);
  return requireVersion(trimApiVersion(version), "library version");
}

/** Takes NVML's own major number off: `13.580.159.04` is the library of driver 580.159.04. */
export function trimApiVersion(version: string): string {
  return version.replace(/^\d{1,2}\.(?=\d{3,}\.)/, "");
}

// `_v2` fails where there is no libcuda; the call without the suffix would then name a version that nobody can run.
function readCudaVersion(nvml: Nvml): string {
  const cell = createCell(4);
  nvml.call("nvmlSystemGetCudaDriverVersion_v2", cell.bytes);
  const version = cell.view.getInt32(0, true);
  if (version < 1000 || version > 1_000_000) {
    throw new ImplausibleAnswer(`the driver gives ${version} as the CUDA version`);
  }
  return `${Math.floor(version / 1000)}.${Math.floor(version % 1000 / 10)}`;
}

function requireVersion(text: string, what: string): string {
  if (!/^\d+(\.\d+)+[\w.-]*$/.test(text)) {
    throw new ImplausibleAnswer(`the driver gives ${JSON.stringify(text)} as its ${what}`);
  }
  return text;
}

/** The version of the loaded kernel module; `undefined` where there is none or its file reads otherwise. */
export function findModuleVersion(): string | undefined {
  try {
    return parseModuleVersion(readFileSync("/proc/driver/nvidia/version", "utf8"));
  } catch {
    return undefined; // Whatever keeps the file from us, the version is not to be had.
  }
}

/** Reads /proc/driver/nvidia/version, whose first line has the version between two blanks. */
export function parseModuleVersion(text: string): string | undefined {
  return /^NVRM version:.*?\s(\d{2,}\.\d+(?:\.\d+)?)\s/m.exec(text)?.[1];
}
