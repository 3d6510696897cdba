/**
 * What CUDA makes of CUDA_VISIBLE_DEVICES, as measured with driver 580.159.04. A simulated job decides for itself, so
 * that what gpuctl concludes from the variable is held against something other than its own rules.
 */
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

/** CUDA ignores a value of more bytes. */
const LONGEST_VALUE = 2624;
/** A MIG device as drivers before 470 name it: its GPU, GPU instance and compute instance. */
const MIG_PATH = /^MIG-(GPU-[\dA-Fa-f-]{32,36})\/(\d{1,3})\/(\d{1,3})$/;
/** What strtoul(3) gives for every number that is larger, whatever its sign. */
const LARGEST_NUMBER = 2n ** 64n - 1n;

/**
 * Finds what a job may use, in the order in which it numbers it.
 *
 * A list ends at its first invalid entry. Its first entry decides whether it is of numbers or of UUIDs. A device named
 * twice makes the whole list void, and one process gets one MIG device.
 *
 * @param value the variable's value; everything is visible without one
 */
export function findVisibleDevices(
  value: string | undefined,
  candidates: readonly Candidate[],
): VisibleDevice[] {
  if (value === undefined || new TextEncoder().encode(value).length > LONGEST_VALUE) {
    return wholeDevices(candidates);
  }
  const find = /^(?:GPU|MIG)-/.test(value) ? findByUuid : findByNumber;
  const devices: VisibleDevice[] = [];
  for (const entry of value.split(",")) {
    const device = find(entry, candidates);
    if (device === undefined) break;
    if (devices.some((seen) => isSame(seen, device))) return [];
    if (devices.some(({ mig }) => mig)) break;
    devices.push(device);
  }
  return devices;
}

/**
 * As strtoul(3) reads, into an `int`: leading blanks and zeros are taken, what follows the digits is cut, and 4294967297
 * is 1.
 */
function findByNumber(entry: string, candidates: readonly Candidate[]): VisibleDevice | undefined {
  const [, sign, digits] = /^[ \t-\r]*([+-]?)(\d+)/.exec(entry) ?? [];
  if (digits === undefined) return undefined;
  const size = BigInt(digits);
  const read = size > LARGEST_NUMBER ? LARGEST_NUMBER : sign === "-" ? -size : size;
  const candidate = candidates[Number(BigInt.asIntN(32, read))];
  return candidate && wholeDevice(candidate);
}

/** The beginning of a UUID will do if it is that of one device only. Case and dashes do not count. */
function findByUuid(entry: string, candidates: readonly Candidate[]): VisibleDevice | undefined {
  if (MIG_PATH.test(entry)) return findByPath(entry, candidates);
  const digits = digitsOf(entry);
  if (!/^(?:GPU|MIG)-/.test(entry) || !/^(?:[\da-f]{32}|[\da-f]{1,31}$)/.test(digits)) return undefined;
  const beginsSo = ({ uuid }: { readonly uuid: string }) => digitsOf(uuid).startsWith(digits.slice(0, 32));
  const migDevices = candidates.flatMap((candidate) =>
    candidate.migDevices.filter(beginsSo).map((mig) => migDevice(candidate, mig))
  );
  // Where no MIG device has that UUID, `MIG-` with the digits of a GPU names the GPU.
  const named = entry.startsWith("MIG-") && migDevices.length > 0
    ? migDevices
    : candidates.filter(beginsSo).map(wholeDevice);
  return named.length === 1 ? named[0] : undefined;
}

function findByPath(entry: string, candidates: readonly Candidate[]): VisibleDevice | undefined {
  const [, uuid = "", gpuInstance, computeInstance] = MIG_PATH.exec(entry) ?? [];
  const candidate = candidates.find((each) => digitsOf(each.uuid) === digitsOf(uuid));
  const mig = candidate?.migDevices.find((each) =>
    each.gpuInstance === Number(gpuInstance) && each.computeInstance === Number(computeInstance)
  );
  return candidate && mig && migDevice(candidate, mig);
}

function digitsOf(uuid: string): string {
  return uuid.slice("GPU-".length).replaceAll("-", "").toLowerCase();
}

function wholeDevices(candidates: readonly Candidate[]): VisibleDevice[] {
  const devices = candidates.map(wholeDevice);
  const firstMig = devices.find(({ mig }) => mig);
  return devices.filter((device) => !device.mig || device === firstMig);
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
