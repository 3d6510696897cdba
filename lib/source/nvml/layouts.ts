/**
 * Sizes, offsets and version words of the NVML structs we read (nvml.h), the same on x86-64 and aarch64.
 * tests/contract/layouts_test.ts holds each of them against what the C compiler says.
 */

/** nvmlMemory_t, of nvmlDeviceGetMemoryInfo. */
export const MEMORY_V1 = { size: 24, total: 0, free: 8, used: 16 } as const;

/** nvmlMemory_v2_t, of nvmlDeviceGetMemoryInfo_v2. The version word is sizeof | 2 << 24. */
export const MEMORY_V2 = {
  size: 40,
  versionWord: 0x0200_0028,
  version: 0,
  total: 8,
  reserved: 16,
  free: 24,
  used: 32,
} as const;

/** nvmlProcessInfo_v1_t: what the unsuffixed process lists write. */
export const PROCESS_V1 = { size: 16, pid: 0, usedGpuMemory: 8 } as const;

/** nvmlProcessInfo_v2_t: what `_v2` writes, and `_v3` but for drivers 535.43.02 to 535.86. */
export const PROCESS_V2 = {
  size: 24,
  pid: 0,
  usedGpuMemory: 8,
  gpuInstanceId: 16,
  computeInstanceId: 20,
} as const;

/** nvmlProcessDetail_v1_t: what `_v3` of drivers 535.43.02 to 535.86 writes; the v2 fields and one more. */
export const PROCESS_DETAIL = {
  size: 32,
  pid: 0,
  usedGpuMemory: 8,
  gpuInstanceId: 16,
  computeInstanceId: 20,
  usedGpuCcProtectedMemory: 24,
} as const;

/** nvmlPciInfo_t, as nvmlDeviceGetPciInfo_v3 and nvmlDeviceGetNvLinkRemotePciInfo_v2 write it; older calls write 52 bytes. */
export const PCI_INFO = { size: 68, busId: 36, busIdLength: 32 } as const;

/** nvmlUtilization_t. */
export const UTILIZATION = { size: 8, gpu: 0, memory: 4 } as const;

/** nvmlFieldValue_t. `nvmlReturn` is the field's own status: the call may succeed while a field fails. */
export const FIELD_VALUE = {
  size: 40,
  fieldId: 0,
  scopeId: 4,
  valueType: 24,
  nvmlReturn: 28,
  value: 32,
} as const;

/** nvmlAccountingStats_t, of nvmlDeviceGetAccountingStats. */
export const ACCOUNTING_STATS = { size: 56, maxMemoryUsage: 8, startTime: 24, isRunning: 32 } as const;

/** nvmlGpuFabricInfo_t, of nvmlDeviceGetGpuFabricInfo. */
export const FABRIC_V1 = { size: 28, status: 16, state: 24 } as const;

/** nvmlGpuFabricInfo_v2_t, of nvmlDeviceGetGpuFabricInfoV. The version word is sizeof | 2 << 24. */
export const FABRIC_V2 = { size: 36, versionWord: 0x0200_0024, version: 0, status: 20, state: 28 } as const;

/** Lengths of the text buffers: NVML_DEVICE_NAME_V2_BUFFER_SIZE and its like. */
export const TEXT = { name: 96, uuid: 96, driverVersion: 80, nvmlVersion: 80 } as const;
