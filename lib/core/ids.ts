declare const brand: unique symbol;
type Branded<T, Name extends string> = T & { readonly [brand]: Name };

/** A process id as this reader's PID namespace numbers it. */
export type Pid = Branded<number, "Pid">;
/** A user id. */
export type Uid = Branded<number, "Uid">;
/** A GPU's UUID as the driver prints it, `GPU-` and 36 characters; stand-ins of sources without UUIDs too. */
export type GpuUuid = Branded<string, "GpuUuid">;
/** The driver's number for a GPU. For people and flags only: it may change with a reboot. */
export type GpuIndex = Branded<number, "GpuIndex">;
/** A PCI address, `dddddddd:bb:dd.f` in lower case: domain, bus and device in hexadecimal, function. */
export type BusId = Branded<string, "BusId">;
/** The N of `/dev/nvidiaN`. Need not equal the index. */
export type DeviceMinor = Branded<number, "DeviceMinor">;

/** PID_MAX_LIMIT of a 64-bit kernel (linux/threads.h). */
const PID_MAX_LIMIT = 4_194_304;
const PCI = /^(?:([0-9a-f]{1,8}):)?([0-9a-f]{1,2}):([0-9a-f]{1,2})(?:\.([0-7]))?$/i;

/** @throws {RangeError} if no Linux process can have this id. */
export function pid(value: number): Pid {
  if (!Number.isSafeInteger(value) || value < 1 || value > PID_MAX_LIMIT) {
    throw new RangeError(
      `Cannot make a pid as it must be from 1 to ${PID_MAX_LIMIT}: current value is ${value}`,
    );
  }
  return value as Pid;
}

/** Says whether a Linux process could have this id. NVML read with a wrong stride yields ids that none can. */
export function isPid(value: number): value is Pid {
  return Number.isSafeInteger(value) && value >= 1 && value <= PID_MAX_LIMIT;
}

/** @throws {RangeError} if the value is not a 32-bit unsigned number. */
export function uid(value: number): Uid {
  if (!isUnsigned32(value)) {
    throw new RangeError(`Cannot make a uid as it must be from 0 to 2^32 - 1: current value is ${value}`);
  }
  return value as Uid;
}

/** @throws {SyntaxError} if the text is empty or longer than NVML's buffer (NVML_DEVICE_UUID_V2_BUFFER_SIZE, 96). */
export function gpuUuid(text: string): GpuUuid {
  if (text.length === 0 || text.length > 96) {
    throw new SyntaxError(
      `Cannot make a GPU UUID as it must have 1 to 96 characters: current value is "${text}"`,
    );
  }
  return text as GpuUuid;
}

/** @throws {RangeError} if the value is not a small whole number. */
export function gpuIndex(value: number): GpuIndex {
  if (!Number.isSafeInteger(value) || value < 0 || value > 65_535) {
    throw new RangeError(`Cannot make a GPU index as it must be from 0 to 65535: current value is ${value}`);
  }
  return value as GpuIndex;
}

/** @throws {RangeError} if the value is not a device minor number. */
export function deviceMinor(value: number): DeviceMinor {
  if (!Number.isSafeInteger(value) || value < 0 || value > 0xfffff) {
    throw new RangeError(
      `Cannot make a device minor as it must be from 0 to 2^20 - 1: current value is ${value}`,
    );
  }
  return value as DeviceMinor;
}

/**
 * Reads a PCI address in any form that NVIDIA's tools or the kernel print and gives it one spelling.
 *
 * @throws {SyntaxError} if the text is not a PCI address.
 */
export function parseBusId(text: string): BusId {
  const found = PCI.exec(text.trim());
  if (!found) {
    throw new SyntaxError(`Cannot parse "${text}" as a PCI address: expected domain:bus:device.function`);
  }
  const [, domain = "0", bus = "", device = "", fn = "0"] = found;
  const address = `${domain.padStart(8, "0")}:${bus.padStart(2, "0")}:${device.padStart(2, "0")}.${fn}`;
  return address.toLowerCase() as BusId;
}

function isUnsigned32(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0 && value <= 0xffff_ffff;
}
