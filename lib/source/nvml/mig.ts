import { absent, known, type Reading } from "../../core/reading.ts";
import type { MigInstance, PendingMode } from "../../model/gpu.ts";
import type { Nvml } from "./calls.ts";
import { createCell, readHandle, readText, readU32 } from "./cells.ts";
import { TEXT } from "./layouts.ts";
import { readMemory } from "./memory.ts";
import { attempt, NvmlError, STATUS } from "./status.ts";
import { readUuid } from "./uuid.ts";

/** Whether the GPU is divided, and whether it will be after the next reset. */
export function readMigMode(nvml: Nvml, device: bigint): Reading<PendingMode> {
  return attempt(() => {
    const current = createCell(4);
    const pending = createCell(4);
    nvml.call("nvmlDeviceGetMigMode", device, current.bytes, pending.bytes);
    return { current: current.view.getUint32(0, true) === 1, pending: pending.view.getUint32(0, true) === 1 };
  });
}

/** The MIG devices of a GPU that this reader may see; none where MIG is off, or where the GPU cannot be divided. */
export function readMigInstances(
  nvml: Nvml,
  device: bigint,
  mode: Reading<PendingMode>,
): Reading<readonly MigInstance[]> {
  if (!mode.ok) return mode.why === "not-supported" ? known([]) : mode;
  return attempt(() => mode.value.current ? listMigInstances(nvml, device) : []);
}

function listMigInstances(nvml: Nvml, device: bigint): readonly MigInstance[] {
  const places = readU32(nvml, "nvmlDeviceGetMaxMigDeviceCount", device);
  const instances: MigInstance[] = [];
  let denied: NvmlError | undefined;
  // The driver says 7 or 8; the bound keeps a wrong answer from becoming an endless loop.
  for (let place = 0; place < Math.min(places, 64); place++) {
    try {
      const handle = readHandle(nvml, "nvmlDeviceGetMigDeviceHandleByIndex", device, place);
      instances.push(readMigInstance(nvml, handle));
    } catch (error) {
      // Places are not filled in order, and a container is given only some of them.
      if (!(error instanceof NvmlError)) throw error;
      if (error.status === STATUS.noPermission) denied = error;
      else if (error.status !== STATUS.notFound) throw error;
    }
  }
  if (instances.length === 0 && denied !== undefined) throw denied;
  return instances;
}

function readMigInstance(nvml: Nvml, handle: bigint): MigInstance {
  const { memoryTotal, memoryUsed } = readMemory(nvml, handle);
  return {
    uuid: readUuid(nvml, handle),
    gpuInstance: attempt(() => readU32(nvml, "nvmlDeviceGetGpuInstanceId", handle)),
    computeInstance: attempt(() => readU32(nvml, "nvmlDeviceGetComputeInstanceId", handle)),
    profile: readProfile(nvml, handle),
    memoryTotal,
    memoryUsed,
  };
}

/** A MIG device's name ends in its profile: `NVIDIA H100 80GB HBM3 MIG 1g.10gb`. */
function readProfile(nvml: Nvml, handle: bigint): Reading<string> {
  const name = attempt(() => readText(nvml, "nvmlDeviceGetName", TEXT.name, handle));
  if (!name.ok) return name;
  const profile = / MIG (\d[\w.+]*)$/.exec(name.value)?.[1];
  return profile === undefined ? absent("not-reported", "the device's name has no profile") : known(profile);
}
