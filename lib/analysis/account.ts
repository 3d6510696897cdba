/** What one GPU's memory comes to, and what explains the part that no context explains. */
import { absent, isTrue, known, type Reading } from "../core/reading.ts";
import { type Bytes, bytes } from "../core/units.ts";
import { contextsOf, type Gpu } from "../model/gpu.ts";
import type { GpuAccount } from "../model/snapshot.ts";
import type { Facts } from "./facts.ts";
import { CONTEXT_BYTES, VISIBILITY_BYTES } from "./unlisted_bytes.ts";

const MIB = 1024 ** 2;
/** Less than this is rounding: the driver counts in MiB. */
const ROUNDING_BYTES = 2 * MIB;

/** used − Σ contexts of one GPU. Absent where a part of the sum is, or where it cannot be true. */
export function unattributedOf(gpu: Gpu): Reading<Bytes> {
  if (!gpu.memoryUsed.ok) return gpu.memoryUsed;
  if (gpu.processList.state !== "known") return gpu.processList.reason;
  let used: number = gpu.memoryUsed.value;
  if (gpu.usedIncludesReserve.ok && gpu.usedIncludesReserve.value) {
    if (!gpu.memoryReserved.ok) {
      return absent(
        "not-supported",
        "the driver counts its own reserve as used and does not say how much it is",
      );
    }
    used -= gpu.memoryReserved.value;
  }
  for (const context of gpu.processList.contexts) {
    if (!context.used.ok) return context.used;
    used -= context.used.value;
  }
  if (used < -ROUNDING_BYTES) {
    return absent("implausible", "the contexts add up to more than is used: shared memory is counted twice");
  }
  return known(bytes(Math.max(0, used)));
}

/** Puts one GPU's account together. `isScanComplete` says whether every process was looked at. */
export function accountOf(gpu: Gpu, holders: readonly Facts[], isScanComplete: boolean): GpuAccount {
  const unattributed = unattributedOf(gpu);
  if (!unattributed.ok || unattributed.value < ROUNDING_BYTES) return { gpu, unattributed };
  return { gpu, unattributed, cause: findCause(gpu, unattributed.value, holders, isScanComplete) };
}

/** How much of a GPU no process explains that was seen; `undefined` where all is explained, or the sum is not known. */
export function unexplainedOn(gpu: Gpu, holders: readonly Facts[]): Bytes | undefined {
  const left = unattributedOf(gpu);
  if (!left.ok || left.value < ROUNDING_BYTES) return undefined;
  return findSeenCause(gpu, left.value, holders) === undefined ? left.value : undefined;
}

function findCause(gpu: Gpu, left: Bytes, holders: readonly Facts[], isScanComplete: boolean): string {
  const seen = findSeenCause(gpu, left, holders);
  if (seen !== undefined) return seen;
  return isScanComplete
    ? "no process has this GPU open: a virtual machine, a kernel client, or memory that the driver lost track of after an error"
    : "not every process could be looked at; run as root on the host to see who has the GPU open";
}

/** What of that which was seen explains memory that no context is listed with. */
function findSeenCause(gpu: Gpu, left: Bytes, holders: readonly Facts[]): string | undefined {
  const users = holders.filter(({ devices }) =>
    devices.some((device) => device.gpu === gpu.uuid && isTrue(device.isMapped))
  );
  const owners = users.filter(({ contexts }) => contexts.some((context) => context.gpu.uuid === gpu.uuid));
  const watchers = users.length - owners.length;
  if (left <= VISIBILITY_BYTES * watchers) {
    return "processes that see this GPU without using it cost about 3 MiB each";
  }
  const { length: contexts } = contextsOf(gpu.processList);
  if (left <= CONTEXT_BYTES * contexts + VISIBILITY_BYTES * watchers) {
    return "every context costs about 9 MiB beside what is listed, and a process that only sees the GPU about 3 MiB";
  }
  if (
    holders.some(({ process, devices }) =>
      process.isExiting && devices.some((device) => device.gpu === gpu.uuid)
    )
  ) {
    return "a process is on its way out; the driver is taking its memory back";
  }
  if (owners.length > 0) {
    const pids = owners.map(({ process }) => process.pid).join(", ");
    return `managed memory (cudaMallocManaged) is listed with no process; it can only belong to PID ${pids}`;
  }
  if (isTrue(gpu.displayActive)) return "a display is driven by this GPU";
  if (watchers === 0) return undefined;
  return `held by ${
    users.map(({ process }) => `PID ${process.pid}`).join(", ")
  }, which the driver does not list`;
}
