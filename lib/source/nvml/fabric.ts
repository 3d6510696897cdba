import { absent, known, type Reading } from "../../core/reading.ts";
import { FABRIC_STATES, type FabricState } from "../../model/gpu_health.ts";
import type { Nvml } from "./calls.ts";
import { createCell } from "./cells.ts";
import { FABRIC_V1, FABRIC_V2 } from "./layouts.ts";
import { absentForStatus, STATUS } from "./status.ts";

/** NVML_GPU_FABRIC_STATE_NOT_SUPPORTED, which comes before those that have a name. */
const NOT_SUPPORTED = 0;

/** Statuses of a driver that knows only the first form of the call. */
const TOO_OLD: readonly number[] = [STATUS.functionNotFound, STATUS.argumentVersionMismatch];

/** How far a GPU's registration with the NVLink fabric has come. */
export function readFabric(nvml: Nvml, device: bigint): Reading<FabricState> {
  const { bytes, view } = createCell(FABRIC_V2.size);
  view.setUint32(FABRIC_V2.version, FABRIC_V2.versionWord, true);
  const status = nvml.status("nvmlDeviceGetGpuFabricInfoV", device, bytes);
  if (TOO_OLD.includes(status)) return readFirstForm(nvml, device);
  return status === STATUS.success
    ? nameState(view, FABRIC_V2)
    : absentForStatus("nvmlDeviceGetGpuFabricInfoV", status);
}

function readFirstForm(nvml: Nvml, device: bigint): Reading<FabricState> {
  const { bytes, view } = createCell(FABRIC_V1.size);
  const status = nvml.status("nvmlDeviceGetGpuFabricInfo", device, bytes);
  return status === STATUS.success
    ? nameState(view, FABRIC_V1)
    : absentForStatus("nvmlDeviceGetGpuFabricInfo", status);
}

function nameState(
  view: DataView,
  layout: { readonly state: number; readonly status: number },
): Reading<FabricState> {
  const value = view.getUint8(layout.state);
  if (value === NOT_SUPPORTED) return absent("not-supported", "this GPU is in no NVLink fabric");
  const state = FABRIC_STATES[value - 1];
  return state === undefined
    ? absent("implausible", `the driver gives ${value} as the state of the fabric`)
    : known({ state, status: view.getInt32(layout.status, true) });
}
