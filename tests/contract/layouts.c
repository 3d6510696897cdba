/* Prints every struct that gpuctl reads as the C compiler lays it out: `struct size`, then `struct.field offset`. */
#include <stddef.h>
#include <stdio.h>

#include "nvml_structs.h"

#define SIZE(type) printf("%s %zu\n", #type, sizeof(type))
#define FIELD(type, field) printf("%s.%s %zu\n", #type, #field, offsetof(type, field))
#define LENGTH(type, field) printf("%s.%s.length %zu\n", #type, #field, sizeof(((type *)0)->field))

int main(void) {
  SIZE(nvmlMemory_t);
  FIELD(nvmlMemory_t, total);
  FIELD(nvmlMemory_t, free);
  FIELD(nvmlMemory_t, used);
  SIZE(nvmlMemory_v2_t);
  /* NVML_STRUCT_VERSION(Memory, 2) */
  printf("nvmlMemory_v2_t.versionWord %zu\n", sizeof(nvmlMemory_v2_t) | (size_t)2 << 24);
  FIELD(nvmlMemory_v2_t, version);
  FIELD(nvmlMemory_v2_t, total);
  FIELD(nvmlMemory_v2_t, reserved);
  FIELD(nvmlMemory_v2_t, free);
  FIELD(nvmlMemory_v2_t, used);
  SIZE(nvmlProcessInfo_v1_t);
  FIELD(nvmlProcessInfo_v1_t, pid);
  FIELD(nvmlProcessInfo_v1_t, usedGpuMemory);
  SIZE(nvmlProcessInfo_v2_t);
  FIELD(nvmlProcessInfo_v2_t, pid);
  FIELD(nvmlProcessInfo_v2_t, usedGpuMemory);
  FIELD(nvmlProcessInfo_v2_t, gpuInstanceId);
  FIELD(nvmlProcessInfo_v2_t, computeInstanceId);
  SIZE(nvmlProcessDetail_v1_t);
  FIELD(nvmlProcessDetail_v1_t, pid);
  FIELD(nvmlProcessDetail_v1_t, usedGpuMemory);
  FIELD(nvmlProcessDetail_v1_t, gpuInstanceId);
  FIELD(nvmlProcessDetail_v1_t, computeInstanceId);
  FIELD(nvmlProcessDetail_v1_t, usedGpuCcProtectedMemory);
  SIZE(nvmlPciInfo_t);
  FIELD(nvmlPciInfo_t, busId);
  LENGTH(nvmlPciInfo_t, busId);
  SIZE(nvmlGpuFabricInfo_t);
  FIELD(nvmlGpuFabricInfo_t, status);
  FIELD(nvmlGpuFabricInfo_t, state);
  SIZE(nvmlGpuFabricInfo_v2_t);
  /* nvmlGpuFabricInfo_v2: NVML_STRUCT_VERSION(GpuFabricInfo, 2) */
  printf("nvmlGpuFabricInfo_v2_t.versionWord %zu\n", sizeof(nvmlGpuFabricInfo_v2_t) | (size_t)2 << 24);
  FIELD(nvmlGpuFabricInfo_v2_t, version);
  FIELD(nvmlGpuFabricInfo_v2_t, status);
  FIELD(nvmlGpuFabricInfo_v2_t, state);
  SIZE(nvmlAccountingStats_t);
  FIELD(nvmlAccountingStats_t, maxMemoryUsage);
  FIELD(nvmlAccountingStats_t, startTime);
  FIELD(nvmlAccountingStats_t, isRunning);
  SIZE(nvmlUtilization_t);
  FIELD(nvmlUtilization_t, gpu);
  FIELD(nvmlUtilization_t, memory);
  SIZE(nvmlFieldValue_t);
  FIELD(nvmlFieldValue_t, fieldId);
  FIELD(nvmlFieldValue_t, scopeId);
  FIELD(nvmlFieldValue_t, valueType);
  FIELD(nvmlFieldValue_t, nvmlReturn);
  FIELD(nvmlFieldValue_t, value);
  return 0;
}
