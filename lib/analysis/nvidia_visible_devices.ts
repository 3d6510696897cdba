/** What NVIDIA_VISIBLE_DEVICES asks of the container runtime. It acts before the process starts; CUDA never reads it. */
import type { GpuUuid } from "../core/ids.ts";
import type { VisibleDevice, VisibleMachine } from "./visible_devices.ts";

/** Where the toolkit finds the list when it is given as mounted files (accept-nvidia-visible-devices-as-volume-mounts). */
const AS_VOLUME_MOUNTS = "/var/run/nvidia-container-devices";

/** What the runtime is asked for. */
export type ContainerRequest =
  /** Not set. The toolkit injects nothing, except into images made for the first one (CUDA_VERSION alone is set): all GPUs. */
  | { readonly kind: "unset" }
  /** `void` or empty: the toolkit leaves the container alone. Devices may still be there by other ways. */
  | { readonly kind: "void" }
  /** `none`: the driver's libraries, and no GPU. */
  | { readonly kind: "none" }
  /** The list is not in the variable: volume mounts, or CDI names such as `nvidia.com/gpu=0`. */
  | { readonly kind: "elsewhere"; readonly value: string }
  | {
    readonly kind: "devices";
    readonly devices: readonly VisibleDevice[];
    /** Entries that name nothing on this machine. The toolkit refuses to start such a container. */
    readonly unknown: readonly string[];
  };

/** Reads the variable against the host's GPUs. Numbers are those of nvidia-smi on the host, whatever CUDA_DEVICE_ORDER says. */
export function parseNvidiaVisibleDevices(
  value: string | undefined,
  { gpus }: Pick<VisibleMachine, "gpus">,
): ContainerRequest {
  if (value === undefined) return { kind: "unset" };
  if (value === "" || value === "void") return { kind: "void" };
  if (value === "none") return { kind: "none" };
  if (value === "all") {
    return { kind: "devices", devices: gpus.map(({ uuid }) => ({ gpu: uuid })), unknown: [] };
  }
  if (value === AS_VOLUME_MOUNTS || value.includes("=")) return { kind: "elsewhere", value };
  const byName = namesOf(gpus);
  const devices = new Map<GpuUuid, VisibleDevice>();
  const unknown: string[] = [];
  for (const entry of value.split(",")) {
    const device = byName.get(entry);
    if (device === undefined) unknown.push(entry);
    else devices.set(device.mig ?? device.gpu, device);
  }
  return { kind: "devices", devices: [...devices.values()], unknown };
}

/** Every name that the toolkit knows a device by: its number, its UUID, and `GPU:MIG` for a MIG device. */
function namesOf(gpus: VisibleMachine["gpus"]): ReadonlyMap<string, VisibleDevice> {
  const names = new Map<string, VisibleDevice>();
  for (const { index, uuid, migInstances } of gpus) {
    names.set(String(index), { gpu: uuid });
    names.set(uuid, { gpu: uuid });
    for (const [position, mig] of (migInstances.ok ? migInstances.value : []).entries()) {
      names.set(`${index}:${position}`, { gpu: uuid, mig: mig.uuid });
      names.set(mig.uuid, { gpu: uuid, mig: mig.uuid });
    }
  }
  return names;
}
