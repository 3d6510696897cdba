import { deviceMinor } from "../../lib/core/ids.ts";
import type { DeviceNode } from "../../lib/model/observation.ts";
import { type DescriptorReader, openDescriptorReader } from "../../lib/native/descriptor_reader.ts";
import type { Libc } from "../../lib/native/libc.ts";
import { bindPidfd } from "../../lib/native/pidfd.ts";
import type { DeviceRecogniser } from "../../lib/proc/devices.ts";
import type { ProcessCalls } from "../../lib/proc/process.ts";
import { readUserNames } from "../../lib/proc/users.ts";

/** Nodes that every machine has and hardly anybody opens, in place of a driver's (devices.txt of the kernel). */
export const STAND_INS = { gpu: "/dev/full", uvm: "/dev/zero" } as const;
export const GPU_NODE: DeviceNode = { kind: "gpu", minor: deviceMinor(0) };
export const UVM_NODE: DeviceNode = { kind: "uvm" };

/** Takes the stand-ins for the driver's nodes, by device number and by path. */
export const standInRecogniser: DeviceRecogniser = {
  ofDevice: (major, minor) =>
    major !== 1 ? undefined : minor === 7 ? GPU_NODE : minor === 5 ? UVM_NODE : undefined,
  ofFile: () => undefined,
  ofPath: (path) => path === STAND_INS.gpu ? GPU_NODE : path === STAND_INS.uvm ? UVM_NODE : undefined,
};

/** What reading processes needs, on this machine. */
export function openProcessCalls(
  libc: Libc,
  procRoot = "/proc",
): ProcessCalls & { readonly reader: DescriptorReader } & Disposable {
  const reader = openDescriptorReader(libc, procRoot);
  return {
    reader,
    pidfd: bindPidfd(libc),
    procRoot,
    users: readUserNames(),
    [Symbol.dispose]: () => reader[Symbol.dispose](),
  };
}
