/**
 * Names of the files that stand for GPU memory. A name says who the driver charges; whether the memory still exists is
 * whether anybody has the file open under that name.
 */

/**
 * What a file stands for: memory that a process allocated, another process's memory that it has imported (CUDA IPC),
 * or the few MiB that a visible GPU costs, which the driver charges to nobody.
 */
export const ALLOCATION_KINDS = ["alloc", "import", "visible"] as const;
export type AllocationKind = typeof ALLOCATION_KINDS[number];

/** A MIG device by its place on the GPU. */
export interface MigPlace {
  readonly gpuInstance: number;
  readonly computeInstance: number;
}

export interface AllocationName {
  /** The creator as it numbers itself. */
  readonly pid: number;
  /** The creator's PID namespace, the number in the kernel's `pid:[4026531836]`. */
  readonly pidNamespace: number;
  /** Tells one process's files apart. */
  readonly serial: number;
  readonly kind: AllocationKind;
  readonly mig?: MigPlace;
}

const NAME = /^(\d{1,7})@(\d{1,10})\.(\d{1,6})(?:\.gi(\d{1,3})ci(\d{1,3}))?\.(alloc|import|visible)$/;

/** Writes a name: `812@4026531836.0.alloc`; on a MIG device `812@4026531836.0.gi1ci0.alloc`. */
export function formatAllocationName({ pid, pidNamespace, serial, kind, mig }: AllocationName): string {
  const place = mig ? `.gi${mig.gpuInstance}ci${mig.computeInstance}` : "";
  return `${pid}@${pidNamespace}.${serial}${place}.${kind}`;
}

/** Reads a name back; `undefined` for a file that stands for no memory. */
export function findAllocationName(text: string): AllocationName | undefined {
  const [, pid, namespace, serial, gpuInstance, computeInstance, word] = NAME.exec(text) ?? [];
  const kind = ALLOCATION_KINDS.find((known) => known === word);
  if (kind === undefined) return undefined;
  return {
    pid: Number(pid),
    pidNamespace: Number(namespace),
    serial: Number(serial),
    kind,
    ...gpuInstance !== undefined &&
      { mig: { gpuInstance: Number(gpuInstance), computeInstance: Number(computeInstance) } },
  };
}
