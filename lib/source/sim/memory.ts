/**
 * Memory of a simulated GPU: sparse files whose length is their size. A file is memory for as long as anybody has it
 * open under its name, which each holder says by a lock on the open file description; the kernel drops it with the last
 * descriptor, however that comes about.
 */
import {
  closeSync,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  linkSync,
  openSync,
  readdirSync,
  renameSync,
  unlinkSync,
} from "node:fs";
import { join } from "node:path";
import { pid } from "node:process";
import { errnoOf } from "../../core/errors.ts";
import { cannotWrite } from "../../core/file_errors.ts";
import { type Bytes, bytes } from "../../core/units.ts";
import {
  type AllocationName,
  findAllocationName,
  formatAllocationName,
  type MigPlace,
} from "./allocation.ts";
import type { MemoryLocks } from "./locks.ts";
import { ownPidNamespace } from "./pid_namespace.ts";
import { memoryDirectory } from "./server.ts";

/** Memory that somebody holds. */
export interface HeldMemory {
  readonly gpu: number;
  readonly name: AllocationName;
  readonly size: Bytes;
  /** The same for an allocation and the imports of it. */
  readonly inode: bigint;
}

/** An allocation that this process holds. */
export interface OwnMemory {
  readonly path: string;
  readonly descriptor: number;
}

/** Where memory is taken. */
export interface MemoryPlace {
  readonly gpu: number;
  readonly mig?: MigPlace;
}

/** Memory as one process takes it. Nothing here gives it back: the end of the process does. */
export interface MemoryPool {
  allocate(place: MemoryPlace, size: Bytes, kind?: "alloc" | "visible"): OwnMemory;
  /** Imports another process's allocation as CUDA IPC does: from its end on, the memory is charged to this process. */
  import(place: MemoryPlace, path: string): OwnMemory;
}

export function openMemoryPool(directory: string, locks: MemoryLocks): MemoryPool {
  const pidNamespace = ownPidNamespace();
  let serial = 0;
  /** Makes a file under a name that stands for nothing, takes the lock, and only then gives it its name. */
  const appear = (
    place: MemoryPlace,
    kind: AllocationName["kind"],
    make: (path: string) => number,
  ): OwnMemory => {
    const name = formatAllocationName({
      pid,
      pidNamespace,
      serial: serial++,
      kind,
      ...place.mig && { mig: place.mig },
    });
    const path = join(memoryDirectory(directory, place.gpu), name);
    try {
      const descriptor = make(`${path}.new`);
      locks.hold(descriptor, pid);
      renameSync(`${path}.new`, path);
      return { path, descriptor };
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
      throw cannotWrite(path, error);
    }
  };
  return {
    allocate: (place, size, kind = "alloc") =>
      appear(place, kind, (path) => {
        const descriptor = openSync(path, "wx+");
        // Any user may look at the driver's memory, whatever this one's umask is.
        fchmodSync(descriptor, 0o644);
        ftruncateSync(descriptor, size);
        return descriptor;
      }),
    import: (place, source) =>
      appear(place, "import", (path) => {
        linkSync(source, path);
        return openSync(path, "r+");
      }),
  };
}

/** Makes an allocation larger. */
export function enlarge({ descriptor }: OwnMemory, by: Bytes): void {
  ftruncateSync(descriptor, fstatSync(descriptor).size + by);
}

/** Finds the memory of some GPUs that somebody holds. Memory that comes or goes meanwhile may be in it or not. */
export function readHeldMemory(directory: string, gpus: Iterable<number>, locks: MemoryLocks): HeldMemory[] {
  return [...allocationFiles(directory, gpus, locks)].filter(({ isHeld }) => isHeld)
    .map(({ gpu, name, size, inode }) => ({ gpu, name, size, inode }));
}

/** Removes the files that stood for memory which nobody holds any more, as far as this user may. */
export function sweepMemory(directory: string, gpus: Iterable<number>, locks: MemoryLocks): void {
  for (const { path, isHeld } of allocationFiles(directory, gpus, locks)) {
    if (!isHeld) removeIfAllowed(path);
  }
}

interface AllocationFile extends HeldMemory {
  readonly path: string;
  readonly isHeld: boolean;
}

function* allocationFiles(
  directory: string,
  gpus: Iterable<number>,
  locks: MemoryLocks,
): Generator<AllocationFile> {
  for (const gpu of gpus) {
    const folder = memoryDirectory(directory, gpu);
    for (const text of readdirSync(folder)) {
      const name = findAllocationName(text);
      const file = name && findFile(join(folder, text), name.pid, locks);
      if (name && file) yield { gpu, name, path: join(folder, text), ...file };
    }
  }
}

function findFile(
  path: string,
  pid: number,
  locks: MemoryLocks,
): Pick<AllocationFile, "isHeld" | "size" | "inode"> | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(path, "r");
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
  try {
    const { size, ino } = fstatSync(descriptor, { bigint: true });
    return { isHeld: locks.isHeld(descriptor, pid), size: bytes(size), inode: ino };
  } finally {
    closeSync(descriptor);
  }
}

/** Another user's files stay: the folder is sticky. They count for nothing, so that nobody is worse off. */
function removeIfAllowed(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (!["ENOENT", "EPERM", "EACCES"].includes(errnoOf(error) ?? "")) throw error;
  }
}
