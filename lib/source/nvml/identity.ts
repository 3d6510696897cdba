import { type DeviceMinor, deviceMinor } from "../../core/ids.ts";
import type { Gpu } from "../../model/gpu.ts";
import { readBusId } from "./bus_id.ts";
import type { Nvml } from "./calls.ts";
import { readText, readU32 } from "./cells.ts";
import { TEXT } from "./layouts.ts";
import { attempt, believe, ImplausibleAnswer } from "./status.ts";
import { readUuid } from "./uuid.ts";

/** What a GPU is called. None of it changes while the library stays initialised. */
export type Identity = Pick<Gpu, "uuid" | "name" | "busId" | "minor">;

/** Gives the identity of a GPU by its handle. What was read once, whole, is not read again. */
export function createIdentityReader(nvml: Nvml): (device: bigint) => Identity {
  const read = new Map<bigint, Identity>();
  return (device) => {
    const known = read.get(device);
    if (known !== undefined) return known;
    const identity = readIdentity(nvml, device);
    if (identity.name.ok && identity.busId.ok && identity.minor.ok) read.set(device, identity);
    return identity;
  };
}

/**
 * @throws {NvmlError} if the GPU does not tell its UUID
 * @throws {ImplausibleAnswer} if that is none
 */
function readIdentity(nvml: Nvml, device: bigint): Identity {
  return {
    uuid: readUuid(nvml, device),
    name: attempt(() => readName(nvml, device)),
    busId: attempt(() => readBusId(nvml, "nvmlDeviceGetPciInfo_v3", device)),
    minor: attempt(() => readMinor(nvml, device)),
  };
}

function readName(nvml: Nvml, device: bigint): string {
  const name = readText(nvml, "nvmlDeviceGetName", TEXT.name, device);
  if (name === "") throw new ImplausibleAnswer("the driver gives an empty name");
  return name;
}

function readMinor(nvml: Nvml, device: bigint): DeviceMinor {
  const minor = readU32(nvml, "nvmlDeviceGetMinorNumber", device);
  return believe(() => deviceMinor(minor));
}
