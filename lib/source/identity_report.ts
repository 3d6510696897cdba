/**
 * The GPUs as the kernel side of the driver describes them, for when the driver gives no answer: who they are is known,
 * what is on them is not. Nothing here calls the driver.
 */
import { readdirSync, readFileSync } from "node:fs";
import {
  type BusId,
  type DeviceMinor,
  deviceMinor,
  gpuIndex,
  type GpuUuid,
  gpuUuid,
  parseBusId,
} from "../core/ids.ts";
import { type Absent, absent, known, type Reading } from "../core/reading.ts";
import type { DriverReport } from "../model/gpu.ts";
import { identifiedGpu } from "../model/identified_gpu.ts";
import { parseModuleVersion } from "./nvml/versions.ts";

/** What is known of one GPU without the driver's help. */
export interface GpuIdentity {
  readonly uuid: GpuUuid;
  readonly name: Reading<string>;
  readonly busId: Reading<BusId>;
  readonly minor: Reading<DeviceMinor>;
}

const GPUS = "/proc/driver/nvidia/gpus";

/** Reads the GPUs below /proc/driver/nvidia, in the order of their bus ids; none without a loaded driver. */
export function readGpuIdentities(root = GPUS): GpuIdentity[] {
  let folders: string[];
  try {
    folders = readdirSync(root).sort();
  } catch {
    return []; // Not there or not readable: either way the kernel names no GPU to us.
  }
  return folders.flatMap((folder) => {
    try {
      return parseInformation(readFileSync(`${root}/${folder}/information`, "utf8"), folder);
    } catch {
      return []; // A GPU that is being reset has its folder taken away under us.
    }
  });
}

/** Parses /proc/driver/nvidia/gpus/BUS/information: `Key: value` lines. */
export function parseInformation(text: string, folder: string): GpuIdentity {
  const entries = new Map(
    text.split("\n").map((line): [string, string] => {
      const [key = "", ...rest] = line.split(":");
      return [key.trim(), rest.join(":").trim()];
    }),
  );
  const uuid = entries.get("GPU UUID") ?? "";
  const minor = entries.get("Device Minor");
  const name = entries.get("Model");
  return {
    // Until a GPU has been used once after the driver was loaded its UUID is all question marks.
    uuid: gpuUuid(uuid === "" || uuid.includes("?") ? `bus:${folder}` : uuid),
    name: name ? known(name) : absent("not-reported"),
    busId: known(parseBusId(entries.get("Bus Location") ?? folder)),
    minor: minor !== undefined && /^\d{1,5}$/.test(minor)
      ? known(deviceMinor(Number(minor)))
      : absent("not-reported"),
  };
}

/** A report with the GPUs' identities, in which everything else is absent for this reason. */
export function identityReport(gpus: readonly GpuIdentity[], reason: Absent): DriverReport {
  return {
    driver: { version: readModuleVersion(reason), libraryVersion: reason, cudaVersion: reason },
    gpus: gpus.map((gpu, index) => identifiedGpu({ ...gpu, index: gpuIndex(index) }, reason)),
    unreadableGpus: [],
  };
}

function readModuleVersion(reason: Absent): Reading<string> {
  try {
    const version = parseModuleVersion(readFileSync("/proc/driver/nvidia/version", "utf8"));
    return version === undefined ? reason : known(version);
  } catch {
    return reason; // No such file: the module is not loaded, or its version is nobody's business here.
  }
}
