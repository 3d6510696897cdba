/**
 * What gpuctl expects CUDA to make of values of CUDA_VISIBLE_DEVICES: JSON in, JSON out. A machine that has gpuctl needs
 * no other program to run it: `BUN_BE_BUN=1 dist/gpuctl run tests/hardware/predict_visible.ts`.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { explainVisibleDevices } from "../../lib/analysis/explain_visible_devices.ts";
import { parseVisibleDevices, type VisibleMachine } from "../../lib/analysis/visible_devices.ts";
import { gpuIndex, gpuUuid } from "../../lib/core/ids.ts";
import { absent, known } from "../../lib/core/reading.ts";

/** The GPUs are those of a snapshot. A variable that is not set is null. */
interface Input {
  readonly gpus: readonly { readonly index: number; readonly uuid: string; readonly name: string }[];
  readonly tries: readonly { readonly value: string | null; readonly order: string | null }[];
}

const STANDARD_INPUT = 0;
const STANDARD_OUTPUT = 1;
/** CUresult of cuInit: CUDA_SUCCESS, CUDA_ERROR_NO_DEVICE, CUDA_ERROR_INVALID_DEVICE. */
const CUDA = { success: 0, noDevice: 100, invalidDevice: 101 } as const;

const input: Input = JSON.parse(readFileSync(STANDARD_INPUT, "utf8"));
const gpus = input.gpus.map(({ index, uuid, name }) => ({
  index: gpuIndex(index),
  uuid: gpuUuid(uuid),
  name: known(name),
  migMode: absent("not-supported"),
  migInstances: absent("not-supported"),
}));

const predictions = input.tries.map(({ value, order }) => {
  const machine: VisibleMachine = { gpus, unreadableGpus: [], deviceOrder: order ?? undefined };
  const visible = parseVisibleDevices(value ?? undefined, machine);
  const devices = visible.devices.map(({ gpu }) => gpu);
  return {
    devices,
    init: visible.isError ? CUDA.invalidDevice : devices.length === 0 ? CUDA.noDevice : CUDA.success,
    end: visible.end,
    explanation: explainVisibleDevices(visible, machine),
  };
});
writeFileSync(STANDARD_OUTPUT, JSON.stringify(predictions));
