/** What CUDA makes of CUDA_VISIBLE_DEVICES, as measured with driver 580.159.04. */
import type { MigPlace } from "./allocation.ts";

/** A GPU as CUDA could use it, in CUDA's own order. */
export interface Candidate {
  readonly index: number;
  readonly uuid: string;
  /** Empty where MIG is off. */
  readonly migDevices: readonly (MigPlace & { readonly uuid: string })[];
}

/** A GPU, or one MIG device of it, that a job may use. */
export interface VisibleDevice {
  readonly index: number;
  readonly mig?: MigPlace;
}

const UUID_FORM = /^(?:GPU|MIG)-/;

/**
 * Finds what a job may use, in the order in which it numbers it.
 *
 * A list ends at its first invalid entry. Its first entry decides whether it is of numbers or of UUIDs. A device named
 * twice makes the whole list void.
 *
 * @param value the variable's value; everything is visible without one
 */
export function findVisibleDevices(
  value: string | undefined,
  candidates: readonly Candidate[],
): VisibleDevice[] {
  if (value === undefined) return candidates.map(wholeDevice);
  const isOfUuids = UUID_FORM.test(value.trimStart());
  const devices: VisibleDevice[] = [];
  for (const entry of value.split(",")) {
    const device = isOfUuids ? findByUuid(entry.trimStart(), candidates) : findByNumber(entry, candidates);
    if (device === undefined) break;
    if (devices.some((seen) => isSame(seen, device))) return [];
    devices.push(device);
    // A blank behind a number ends the list: `0 1` is GPU 0.
    if (/^\s*\d+\s/.test(entry)) break;
  }
  // A process can use one MIG device only.
  return devices[0]?.mig ? devices.slice(0, 1) : devices;
}

/** Numbers are read as strtoul(3) does: leading blanks and zeros are taken, what follows the digits is cut. */
function findByNumber(entry: string, candidates: readonly Candidate[]): VisibleDevice | undefined {
  const digits = /^\s*(\d+)/.exec(entry)?.[1];
  const candidate = digits === undefined ? undefined : candidates[Number(digits)];
  return candidate && wholeDevice(candidate);
}

/** The beginning of a UUID will do if it is that of one device only. */
function findByUuid(entry: string, candidates: readonly Candidate[]): VisibleDevice | undefined {
  if (!UUID_FORM.test(entry)) return undefined;
  const named = candidates.flatMap((candidate) => [
    { uuid: candidate.uuid, device: wholeDevice(candidate) },
    ...candidate.migDevices.map((mig) => ({ uuid: mig.uuid, device: migDevice(candidate, mig) })),
  ]).filter(({ uuid }) => uuid.startsWith(entry));
  return named.length === 1 ? named[0]?.device : undefined;
}

/** With MIG on, a GPU is its first MIG device. */
function wholeDevice(candidate: Candidate): VisibleDevice {
  const [first] = candidate.migDevices;
  return first ? migDevice(candidate, first) : { index: candidate.index };
}

function migDevice({ index }: Candidate, { gpuInstance, computeInstance }: MigPlace): VisibleDevice {
  return { index, mig: { gpuInstance, computeInstance } };
}

function isSame(a: VisibleDevice, b: VisibleDevice): boolean {
  return a.index === b.index && a.mig?.gpuInstance === b.mig?.gpuInstance &&
    a.mig?.computeInstance === b.mig?.computeInstance;
}
