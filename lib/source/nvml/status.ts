import { type Absent, absent, known, type Reading, type Why } from "../../core/reading.ts";

interface StatusMeaning {
  /** Without the prefix NVML_ERROR_. */
  readonly name: string;
  /** nvmlErrorString of driver 595. */
  readonly text: string;
  readonly why: Why;
}

/** nvmlReturn_t of nvml.h, drivers 340 to 610, but for SUCCESS. */
const MEANINGS: Readonly<Record<number, StatusMeaning>> = {
  1: { name: "UNINITIALIZED", text: "Uninitialized", why: "failed" },
  2: { name: "INVALID_ARGUMENT", text: "Invalid Argument", why: "failed" },
  3: { name: "NOT_SUPPORTED", text: "Not Supported", why: "not-supported" },
  4: { name: "NO_PERMISSION", text: "Insufficient Permissions", why: "no-permission" },
  5: { name: "ALREADY_INITIALIZED", text: "Already Initialized", why: "failed" },
  6: { name: "NOT_FOUND", text: "Not Found", why: "not-reported" },
  7: { name: "INSUFFICIENT_SIZE", text: "Insufficient Size", why: "failed" },
  8: { name: "INSUFFICIENT_POWER", text: "Insufficient External Power", why: "failed" },
  9: { name: "DRIVER_NOT_LOADED", text: "Driver Not Loaded", why: "not-supported" },
  10: { name: "TIMEOUT", text: "Timeout", why: "timed-out" },
  11: { name: "IRQ_ISSUE", text: "Interrupt Request Issue", why: "failed" },
  12: { name: "LIBRARY_NOT_FOUND", text: "NVML Shared Library Not Found", why: "not-supported" },
  13: { name: "FUNCTION_NOT_FOUND", text: "Function Not Found", why: "not-supported" },
  14: { name: "CORRUPTED_INFOROM", text: "Corrupted infoROM", why: "failed" },
  15: { name: "GPU_IS_LOST", text: "GPU is lost", why: "lost" },
  16: { name: "RESET_REQUIRED", text: "GPU requires reset", why: "reset-required" },
  // The device node or the container's device rules say no, more often than a hypervisor does.
  17: { name: "OPERATING_SYSTEM", text: "GPU access blocked by the operating system", why: "no-permission" },
  18: { name: "LIB_RM_VERSION_MISMATCH", text: "Driver/library version mismatch", why: "failed" },
  19: { name: "IN_USE", text: "In use by another client", why: "failed" },
  20: { name: "MEMORY", text: "Insufficient Memory", why: "failed" },
  21: { name: "NO_DATA", text: "No data", why: "not-reported" },
  22: { name: "VGPU_ECC_NOT_SUPPORTED", text: "vGPU ECC not supported", why: "not-supported" },
  23: { name: "INSUFFICIENT_RESOURCES", text: "Insufficient Resources", why: "failed" },
  24: { name: "FREQ_NOT_SUPPORTED", text: "Invalid Frequency", why: "not-supported" },
  25: { name: "ARGUMENT_VERSION_MISMATCH", text: "Argument version mismatch", why: "not-supported" },
  26: { name: "DEPRECATED", text: "Requested functionality has been deprecated", why: "not-supported" },
  27: { name: "NOT_READY", text: "System is not in ready state", why: "failed" },
  28: { name: "GPU_NOT_FOUND", text: "No supported GPUs were found", why: "not-reported" },
  29: {
    name: "INVALID_STATE",
    text: "Resource not in correct state to perform requested operation",
    why: "failed",
  },
  30: {
    name: "RESET_TYPE_NOT_SUPPORTED",
    text: "Reset type is not supported for given device",
    why: "not-supported",
  },
  999: { name: "UNKNOWN", text: "Unknown Error", why: "failed" },
};

/** The statuses that decide what is called next. All others are only told. */
export const STATUS = {
  success: 0,
  invalidArgument: 2,
  notSupported: 3,
  noPermission: 4,
  notFound: 6,
  insufficientSize: 7,
  functionNotFound: 13,
  versionMismatch: 18,
  argumentVersionMismatch: 25,
} as const;

/** Why a value is missing, by the status that NVML gave in its place. A number that is not in nvml.h is `failed`. */
export function whyOfStatus(status: number): Why {
  return MEANINGS[status]?.why ?? "failed";
}

/** `GPU is lost (NVML_ERROR_GPU_IS_LOST)`: the library's own words and the name to search for. */
export function formatStatus(status: number): string {
  const meaning = MEANINGS[status];
  return meaning === undefined
    ? `a status that nvml.h does not name (${status})`
    : `${meaning.text} (NVML_ERROR_${meaning.name})`;
}

/** An NVML call that gave another status than success. */
export class NvmlError extends Error {
  override readonly name = "NvmlError";
  readonly call: string;
  readonly status: number;

  constructor(call: string, status: number) {
    super(`Cannot call ${call}: ${formatStatus(status)}`);
    this.call = call;
    this.status = status;
  }
}

/** Stands for what a call did not give, with the call and the library's words. */
export function absentForStatus(call: string, status: number): Absent {
  return absent(whyOfStatus(status), `${call}: ${formatStatus(status)}`);
}

/** An answer of the driver that cannot be true. */
export class ImplausibleAnswer extends Error {
  override readonly name = "ImplausibleAnswer";
}

/** Makes a value of ours of what the driver gave; what our own rules refuse is an answer that cannot be true. */
export function believe<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (error instanceof RangeError || error instanceof SyntaxError) {
      throw new ImplausibleAnswer(error.message);
    }
    throw error;
  }
}

/**
 * Takes what `read` gives as known, and an NVML status or an answer that cannot be true as the reason for its absence.
 */
export function attempt<T>(read: () => T): Reading<T> {
  try {
    return known(read());
  } catch (error) {
    if (error instanceof NvmlError) return absentForStatus(error.call, error.status);
    if (error instanceof ImplausibleAnswer) return absent("implausible", error.message);
    throw error;
  }
}
