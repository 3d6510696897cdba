/** What a CUDA process does on a simulated server: which GPUs it sees, what it takes of them, and what that costs. */
import { GpuctlError } from "../../core/errors.ts";
import { type Bytes, bytes, formatBytes, sumBytes } from "../../core/units.ts";
import { chargeOnce } from "./report.ts";
import type { Kernel } from "./kernel.ts";
import type { MemoryLocks } from "./locks.ts";
import { type MemoryPlace, openMemoryPool, type OwnMemory, readHeldMemory } from "./memory.ts";
import { cudaNodes, type NodeUse, openNodes } from "./nodes.ts";
import { cudaCandidates, type SimServer } from "./server.ts";
import { findVisibleDevices } from "./visible.ts";

const MEBIBYTE = 1024 ** 2;
/** A bare context of PyTorch 2.11 on an H200. */
export const CONTEXT_SIZE = bytes(518 * MEBIBYTE);
/** A context with the first tensor that a rank made on the wrong GPU. */
const STRAY_SIZE = bytes(612 * MEBIBYTE);
/** What a GPU costs that is visible and not used. */
const VISIBLE_SIZE = bytes(3 * MEBIBYTE);

/** The GPUs of a CUDA process. */
export interface CudaView {
  /** Where it takes a context. */
  readonly used: readonly MemoryPlace[];
  /** Indexes of what it could use. */
  readonly visible: readonly number[];
}

/** The variables that decide it, as the process finds them. */
export interface CudaVariables {
  readonly visibleDevices: string | undefined;
  readonly deviceOrder: string | undefined;
}

/**
 * Finds the GPUs of a job that uses some, as it numbers them.
 *
 * @throws {GpuctlError} if it sees none, or not that one.
 */
export function chooseCudaDevices(
  server: SimServer,
  gpus: readonly number[],
  { visibleDevices, deviceOrder }: CudaVariables,
): CudaView {
  const visible = findVisibleDevices(visibleDevices, cudaCandidates(server, deviceOrder));
  const given = visibleDevices === undefined ? "" : ` (CUDA_VISIBLE_DEVICES is "${visibleDevices}")`;
  const used = gpus.map((gpu) => {
    const device = visible[gpu];
    if (device) return { gpu: device.index, ...device.mig && { mig: device.mig } };
    const found = visible.length === 0 ? "the job sees none" : `the job sees ${visible.length}`;
    throw new GpuctlError("unavailable", `Cannot use GPU ${gpu}: ${found}${given}`, {
      hint: "--gpu counts the GPUs that the job sees, from 0, as CUDA does",
    });
  });
  return { used, visible: visible.map(({ index }) => index) };
}

/** The nodes that a process with this view of the GPUs has open and mapped. */
export function nodesOf(server: SimServer, { used, visible }: CudaView): NodeUse[] {
  return cudaNodes(server, { used: new Set(used.map(({ gpu }) => gpu)), visible: new Set(visible) });
}

/** A context that a process has beside those where it works. */
export interface StrayContext {
  readonly place: MemoryPlace;
  /** Whether a tensor was made there by mistake; without one it is a bare context, as peer access may need. */
  readonly hasTensor: boolean;
}

/** What a CUDA process takes. */
export interface CudaDemand {
  readonly view: CudaView;
  /** On each used GPU, in equal parts. */
  readonly size: Bytes;
  readonly parts: number;
  /** Contexts on GPUs where the process has no business. */
  readonly strays: readonly StrayContext[];
  /** Other processes' allocations, by path. */
  readonly imports: readonly { readonly place: MemoryPlace; readonly path: string }[];
}

/** What a CUDA process has, for as long as it lives. */
export interface CudaHolding {
  readonly nodes: readonly NodeUse[];
  readonly nodeDescriptors: readonly number[];
  /** One a used GPU, then what the process allocated there, then what else: strays, imports, cost of visibility. */
  readonly contexts: readonly PlacedMemory[];
  readonly allocations: readonly PlacedMemory[];
  readonly others: readonly PlacedMemory[];
}

/** Memory and where it lies. */
export interface PlacedMemory extends OwnMemory {
  readonly place: MemoryPlace;
}

/**
 * Becomes a CUDA process: opens and maps the nodes and takes the memory.
 *
 * @throws {GpuctlError} if a GPU has too little free.
 */
export function startCuda(server: SimServer, demand: CudaDemand, kernel: Kernel): CudaHolding {
  const { view, size, parts, strays, imports } = demand;
  checkRoom(server, demand, kernel.locks);
  const places = [...view.used, ...strays.map(({ place }) => place)];
  const nodes = nodesOf(server, { used: places, visible: view.visible });
  const nodeDescriptors = openNodes(nodes, kernel);
  const pool = openMemoryPool(server.directory, kernel.locks);
  const take = (place: MemoryPlace, amount: Bytes) => ({ place, ...pool.allocate(place, amount) });
  const contexts = view.used.map((place) => take(place, CONTEXT_SIZE));
  const allocations = view.used.flatMap((place) => split(size, parts).map((part) => take(place, part)));
  const unused = view.visible.filter((gpu) => !places.some((place) => place.gpu === gpu));
  const others = [
    ...strays.map(({ place, hasTensor }) => take(place, hasTensor ? STRAY_SIZE : CONTEXT_SIZE)),
    ...imports.map(({ place, path }) => ({ place, ...pool.import(place, path) })),
    ...unused.map((gpu) => ({ place: { gpu }, ...pool.allocate({ gpu }, VISIBLE_SIZE, "visible") })),
  ];
  return { nodes, nodeDescriptors, contexts, allocations, others };
}

function split(size: Bytes, parts: number): Bytes[] {
  const part = Math.floor(size / parts);
  return Array.from({ length: parts }, (_, place) => bytes(place === 0 ? size - part * (parts - 1) : part))
    .filter((amount) => amount > 0);
}

function checkRoom(server: SimServer, { view, size }: CudaDemand, locks: MemoryLocks): void {
  for (const place of view.used) {
    const room = findRoom(server, place, locks);
    if (room === undefined || size + CONTEXT_SIZE <= room.free) continue;
    throw new GpuctlError(
      "unavailable",
      `Cannot allocate ${formatBytes(size)} and a context on GPU ${place.gpu}: out of memory, ${
        formatBytes(room.free)
      } ` +
        `of ${formatBytes(room.total)} are free`,
    );
  }
}

/** What is free at a place, and of how much; `undefined` where there is no such GPU. */
export function findRoom(
  server: SimServer,
  { gpu: index, mig }: MemoryPlace,
  locks: MemoryLocks,
): { readonly free: Bytes; readonly total: Bytes } | undefined {
  const gpu = server.gpus.find((known) => known.index === index);
  if (gpu === undefined) return undefined;
  const held = chargeOnce(readHeldMemory(server.directory, [index], locks));
  const instance = mig && gpu.faults.mig.find(({ gpuInstance }) => gpuInstance === mig.gpuInstance);
  const inside = mig ? held.filter(({ name }) => name.mig?.gpuInstance === mig.gpuInstance) : held;
  const total = instance ? instance.memory : gpu.memoryTotal - gpu.memoryReserved - gpu.faults.unattributed;
  const free = Math.max(0, total - sumBytes(inside.map((memory) => memory.size)));
  return { free: bytes(free), total: bytes(total) };
}
