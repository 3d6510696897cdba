import { absent, known } from "../../core/reading.ts";
import type { GpuHealth } from "../../model/gpu_health.ts";
import type { SimGpu } from "./server.ts";

/** What the driver of a simulated server says of a GPU's health. */
export function describeHealth({ faults }: SimGpu, gpus: readonly SimGpu[]): GpuHealth {
  const { reset } = faults;
  return {
    ecc: known({ current: true, pending: !reset.isEccPending }),
    uncorrectedErrors: known(reset.uncorrectedErrors),
    remappedRows: known({
      correctable: 0,
      uncorrectable: reset.isRemapPending || reset.hasRemapFailed ? 1 : 0,
      isPending: reset.isRemapPending,
      hasFailed: reset.hasRemapFailed,
    }),
    hasRetirementPending: known(reset.isRetirementPending),
    nvlinkPeers: known(
      gpus.filter(({ index }) => reset.nvlinkPeers.includes(index)).map(({ busId }) => busId),
    ),
    hasNvSwitch: known(reset.hasNvSwitch),
    virtualization: known(reset.virtualization),
    fabric: reset.fabric === "none"
      ? absent("not-supported", "this GPU is in no NVLink fabric")
      : known({ state: reset.fabric, status: reset.fabricStatus }),
    smClockMegahertz: known(reset.smClockMegahertz),
    architecture: known(reset.architecture),
  };
}
