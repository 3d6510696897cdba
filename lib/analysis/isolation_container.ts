/** How a container came to a GPU that its job was not given. */
import { printable, truncate } from "../core/text.ts";
import type { DriverReport, Gpu } from "../model/gpu.ts";
import type { IsolationViolation } from "../model/isolation.ts";
import type { Environment } from "../model/process.ts";
import { nameDevice } from "./explain_visible_devices.ts";
import { type ContainerRequest, parseNvidiaVisibleDevices } from "./nvidia_visible_devices.ts";

const SHOWN_CHARACTERS = 60;

type Explained = Pick<IsolationViolation, "cause" | "explanation" | "fix">;

interface Setting {
  readonly variables: Environment;
  readonly machine: Pick<DriverReport, "gpus">;
  /** The job's devices as CUDA_VISIBLE_DEVICES takes them. */
  readonly devices: string;
}

/** What the container's own variable says of a GPU that the process used: given by the runtime, or there by another way. */
export function explainContainer(gpu: Gpu, { variables, machine, devices }: Setting): Explained {
  const value = variables.get("NVIDIA_VISIBLE_DEVICES");
  const request = parseNvidiaVisibleDevices(value, machine);
  const set = `NVIDIA_VISIBLE_DEVICES="${printable(truncate(value ?? "", SHOWN_CHARACTERS))}"`;
  const give = `Give it only the job's GPUs: docker run --gpus '"device=${devices}"'`;
  if (request.kind === "devices" && request.devices.some((device) => device.gpu === gpu.uuid)) {
    return {
      cause: "container",
      explanation: value === "all"
        ? `The container was given every GPU: ${set}`
        : `The container was given this GPU: ${set}`,
      fix: give,
    };
  }
  return {
    cause: "container",
    explanation:
      `${describeRequest(request, { set, machine })}, and the container has this GPU all the same: ` +
      "--privileged, --device, a CDI device or a mounted /dev gives it past that list",
    fix: `${give}, without --privileged and --device`,
  };
}

function describeRequest(
  request: ContainerRequest,
  { set, machine }: { readonly set: string; readonly machine: Pick<DriverReport, "gpus"> },
): string {
  switch (request.kind) {
    case "unset":
      return "The container runtime was asked for no GPU, as NVIDIA_VISIBLE_DEVICES is not set";
    case "void":
      return `The container runtime was asked for no GPU (${set})`;
    case "none":
      return `The container runtime was asked for the driver's libraries alone (${set})`;
    case "elsewhere":
      return `What the container runtime was asked for does not stand in ${set}`;
    case "devices": {
      const names = request.devices.map((device) => nameDevice(device, machine));
      return `The container runtime was asked for ${
        names.length === 0 ? "no GPU" : names.join(", ")
      } (${set})`;
    }
  }
}
