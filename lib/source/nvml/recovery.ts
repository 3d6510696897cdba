import { absent, known, type Reading } from "../../core/reading.ts";
import { RECOVERY_ACTIONS, type RecoveryAction } from "../../model/gpu.ts";
import type { Nvml } from "./calls.ts";
import { createCell } from "./cells.ts";
import { FIELD_VALUE } from "./layouts.ts";
import { absentForStatus, STATUS } from "./status.ts";

/** NVML_FI_DEV_GET_GPU_RECOVERY_ACTION, drivers 565.57 and later. */
const RECOVERY_ACTION = 230;
/** NVML_FI_DEV_RESET_STATUS and NVML_FI_DEV_DRAIN_AND_RESET_STATUS, drivers 535.183, 550.90 and 560. */
const RESET_REQUIRED = 226;
const DRAIN_AND_RESET = 227;

/** What the driver says must be done with the GPU. Drivers without that field say at least whether it needs a reset. */
export function readRecoveryAction(nvml: Nvml, device: bigint): Reading<RecoveryAction> {
  const action = readField(nvml, device, RECOVERY_ACTION);
  if (action.ok) return nameAction(action.value);
  if (action.why === "lost" || action.why === "reset-required") return action;
  const reset = readField(nvml, device, RESET_REQUIRED);
  if (reset.ok && reset.value !== 0) return known("reset");
  const drain = readField(nvml, device, DRAIN_AND_RESET);
  if (drain.ok && drain.value !== 0) return known("drain-and-reset");
  // Both fields are all that these drivers know of: only together do they say that nothing is due.
  if (!reset.ok) return reset;
  return drain.ok ? known("none") : drain;
}

function nameAction(value: number): Reading<RecoveryAction> {
  const action = RECOVERY_ACTIONS[value];
  return action === undefined
    ? absent("not-reported", `the driver names recovery action ${value}, which has no name here`)
    : known(action);
}

function readField(nvml: Nvml, device: bigint, id: number): Reading<number> {
  const { bytes, view } = createCell(FIELD_VALUE.size);
  view.setUint32(FIELD_VALUE.fieldId, id, true);
  const status = nvml.status("nvmlDeviceGetFieldValues", device, 1, bytes);
  if (status !== STATUS.success) return absentForStatus("nvmlDeviceGetFieldValues", status);
  // The call succeeds also where the driver does not know the field, and then blames the argument.
  const fieldStatus = view.getInt32(FIELD_VALUE.nvmlReturn, true);
  if (fieldStatus === STATUS.invalidArgument) {
    return absent("not-supported", `the driver has no field ${id}`);
  }
  return fieldStatus === STATUS.success
    ? known(view.getUint32(FIELD_VALUE.value, true))
    : absentForStatus(`nvmlDeviceGetFieldValues of field ${id}`, fieldStatus);
}
