import type { CType, NativeArg } from "../../native/dlopen.ts";

/**
 * Every NVML call we make, with its arguments; each returns an nvmlReturn_t. A handle is passed as the number it is.
 * No call is assumed: each is looked up when first needed, and one that the library lacks answers FUNCTION_NOT_FOUND.
 */
export const SYMBOLS = {
  nvmlInit_v2: [],
  nvmlInitWithFlags: ["u32"],
  nvmlSystemGetDriverVersion: ["ptr", "u32"],
  nvmlSystemGetNVMLVersion: ["ptr", "u32"],
  nvmlSystemGetCudaDriverVersion_v2: ["ptr"],
  nvmlDeviceGetCount_v2: ["ptr"],
  nvmlDeviceGetHandleByIndex_v2: ["u32", "ptr"],
  nvmlDeviceGetHandleByUUID: ["ptr", "ptr"],
  nvmlDeviceGetName: ["u64", "ptr", "u32"],
  nvmlDeviceGetUUID: ["u64", "ptr", "u32"],
  nvmlDeviceGetPciInfo_v3: ["u64", "ptr"],
  nvmlDeviceGetMinorNumber: ["u64", "ptr"],
  nvmlDeviceGetMemoryInfo: ["u64", "ptr"],
  nvmlDeviceGetMemoryInfo_v2: ["u64", "ptr"],
  nvmlDeviceGetComputeRunningProcesses: ["u64", "ptr", "ptr"],
  nvmlDeviceGetComputeRunningProcesses_v2: ["u64", "ptr", "ptr"],
  nvmlDeviceGetComputeRunningProcesses_v3: ["u64", "ptr", "ptr"],
  nvmlDeviceGetGraphicsRunningProcesses: ["u64", "ptr", "ptr"],
  nvmlDeviceGetGraphicsRunningProcesses_v2: ["u64", "ptr", "ptr"],
  nvmlDeviceGetGraphicsRunningProcesses_v3: ["u64", "ptr", "ptr"],
  nvmlDeviceGetMPSComputeRunningProcesses: ["u64", "ptr", "ptr"],
  nvmlDeviceGetMPSComputeRunningProcesses_v2: ["u64", "ptr", "ptr"],
  nvmlDeviceGetMPSComputeRunningProcesses_v3: ["u64", "ptr", "ptr"],
  nvmlDeviceGetPersistenceMode: ["u64", "ptr"],
  nvmlDeviceGetComputeMode: ["u64", "ptr"],
  nvmlDeviceGetDisplayActive: ["u64", "ptr"],
  nvmlDeviceGetUtilizationRates: ["u64", "ptr"],
  nvmlDeviceGetFieldValues: ["u64", "i32", "ptr"],
  nvmlDeviceGetMigMode: ["u64", "ptr", "ptr"],
  nvmlDeviceGetMaxMigDeviceCount: ["u64", "ptr"],
  nvmlDeviceGetMigDeviceHandleByIndex: ["u64", "u32", "ptr"],
  nvmlDeviceGetGpuInstanceId: ["u64", "ptr"],
  nvmlDeviceGetComputeInstanceId: ["u64", "ptr"],
  nvmlDeviceGetEccMode: ["u64", "ptr", "ptr"],
  nvmlDeviceGetTotalEccErrors: ["u64", "i32", "i32", "ptr"],
  nvmlDeviceGetRemappedRows: ["u64", "ptr", "ptr", "ptr", "ptr"],
  nvmlDeviceGetRetiredPagesPendingStatus: ["u64", "ptr"],
  nvmlDeviceGetNvLinkState: ["u64", "u32", "ptr"],
  nvmlDeviceGetNvLinkRemoteDeviceType: ["u64", "u32", "ptr"],
  nvmlDeviceGetNvLinkRemotePciInfo_v2: ["u64", "u32", "ptr"],
  nvmlDeviceGetVirtualizationMode: ["u64", "ptr"],
  nvmlDeviceGetGpuFabricInfo: ["u64", "ptr"],
  nvmlDeviceGetGpuFabricInfoV: ["u64", "ptr"],
  nvmlDeviceGetClockInfo: ["u64", "i32", "ptr"],
  nvmlDeviceGetArchitecture: ["u64", "ptr"],
  nvmlDeviceGetAccountingMode: ["u64", "ptr"],
  nvmlDeviceGetAccountingPids: ["u64", "ptr", "ptr"],
  nvmlDeviceGetAccountingStats: ["u64", "u32", "ptr"],
  // The only calls that change anything.
  nvmlDeviceResetGpuLockedClocks: ["u64"],
  nvmlDeviceResetMemoryLockedClocks: ["u64"],
  nvmlDeviceResetApplicationsClocks: ["u64"],
  // Only ever looked for, never called: they tell the drivers whose `_v3` process records have 32 bytes.
  nvmlDeviceGetConfComputeMemSizeInfo: ["u64", "ptr"],
  nvmlDeviceGetRunningProcessDetailList: ["u64", "ptr"],
} as const satisfies Record<string, readonly CType[]>;

export type NvmlSymbol = keyof typeof SYMBOLS;

/**
 * An opened libnvidia-ml. It is never closed: whoever opened it ends with it, as a shutdown costs 4 ms and frees nothing
 * more.
 */
export interface Nvml {
  readonly path: string;
  /** Whether this version of the library exports the symbol: the only test for a feature. */
  has(symbol: NvmlSymbol): boolean;
  /** Calls and gives the nvmlReturn_t. */
  status(symbol: NvmlSymbol, ...args: NativeArg[]): number;
  /** @throws {NvmlError} if the call gives another status than success, or is not exported. */
  call(symbol: NvmlSymbol, ...args: NativeArg[]): void;
}
