/*
 * A stand-in for libnvidia-ml.so.1. It answers from the scenario file that GPUCTL_NVML_STUB names, which is read again
 * whenever the GPUs are counted, so that a test may change the machine between two looks.
 * tests/support/nvml_stub.ts writes that file and says what each line means.
 */
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "nvml_structs.h"
#include "nvml_stub_scenario.h"

#define EXPORT __attribute__((visibility("default")))

enum { SUCCESS = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7,
       DRIVER_NOT_LOADED = 9, ARGUMENT_VERSION_MISMATCH = 25 };

typedef u64 handle;

/* What the scenario orders for this call: a status, or never to return. */
static int gate(const struct rule *rules, unsigned count, const char *call) {
  for (unsigned i = 0; i < count; i++)
    if (!strcmp(rules[i].call, call)) {
      if (rules[i].hangs) mark_hanging();
      while (rules[i].hangs) pause();
      return rules[i].status;
    }
  return SUCCESS;
}

/* Handles are numbers that no other call gives: a GPU's, and above it those of its instances. */
static handle handle_of(unsigned index) { return 0x7f0000001000ull + index * 0x100ull; }
static unsigned index_of(handle h) { return (unsigned)((h - 0x7f0000001000ull) >> 8); }
static unsigned place_of(handle h) { return (unsigned)(h & 0xff); }

#define GENERAL() do { int s_ = gate(general, generals, __func__); if (s_) return s_; } while (0)
/* A GPU's orders are for its own handle, not for those of its instances. */
#define DEVICE(h) \
  if (index_of(h) >= gpus) return INVALID_ARGUMENT; \
  struct gpu *g = &gpu[index_of(h)]; \
  do { int s_ = place_of(h) ? SUCCESS : gate(g->rule, g->rules, __func__); if (s_) return s_; } while (0)

/* The instance that a handle means, NULL for the GPU itself. */
static struct instance *instance_of(struct gpu *g, handle h) {
  return place_of(h) ? &g->instance[place_of(h) - 1] : NULL;
}

static int put(char *to, unsigned length, const char *text) {
  if (strlen(text) + 1 > length) return INSUFFICIENT_SIZE;
  strcpy(to, text);
  return SUCCESS;
}

/* Not of NVML: for a test whose runtime keeps its environment to itself. Takes back all growth. */
EXPORT int stub_use_scenario(const char *path) {
  if (put(chosen, sizeof chosen, path)) return INSUFFICIENT_SIZE;
  memset(grown, 0, sizeof grown);
  return read_scenario() ? SUCCESS : DRIVER_NOT_LOADED;
}

EXPORT int nvmlInit_v2(void) {
  if (!read_scenario()) return DRIVER_NOT_LOADED;
  GENERAL();
  return SUCCESS;
}
EXPORT int nvmlInitWithFlags(unsigned flags) {
  (void)flags;
  if (!read_scenario()) return DRIVER_NOT_LOADED;
  GENERAL();
  return SUCCESS;
}
EXPORT int nvmlSystemGetDriverVersion(char *text, unsigned length) { GENERAL(); return put(text, length, driver); }
EXPORT int nvmlSystemGetNVMLVersion(char *text, unsigned length) { GENERAL(); return put(text, length, library); }
EXPORT int nvmlSystemGetCudaDriverVersion_v2(int *version) { GENERAL(); *version = cuda; return SUCCESS; }
EXPORT int nvmlDeviceGetCount_v2(unsigned *count) {
  if (!read_scenario()) return UNINITIALIZED;
  GENERAL();
  *count = gpus;
  return SUCCESS;
}
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, handle *h) {
  if (index >= gpus) return INVALID_ARGUMENT;
  DEVICE(handle_of(index));
  (void)g;
  *h = handle_of(index);
  return SUCCESS;
}
EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, handle *h) {
  GENERAL();
  for (unsigned index = 0; index < gpus; index++)
    if (!strcmp(gpu[index].uuid, uuid)) {
      *h = handle_of(index);
      return SUCCESS;
    }
  return NOT_FOUND;
}
EXPORT int nvmlDeviceGetName(handle h, char *text, unsigned length) {
  DEVICE(h);
  return put(text, length, instance_of(g, h) ? instance_of(g, h)->name : g->name);
}
EXPORT int nvmlDeviceGetUUID(handle h, char *text, unsigned length) {
  DEVICE(h);
  return put(text, length, instance_of(g, h) ? instance_of(g, h)->uuid : g->uuid);
}
EXPORT int nvmlDeviceGetPciInfo_v3(handle h, nvmlPciInfo_t *pci) {
  DEVICE(h);
  memset(pci, 0, sizeof *pci);
  return put(pci->busId, sizeof pci->busId, g->bus);
}
EXPORT int nvmlDeviceGetMinorNumber(handle h, unsigned *minor) { DEVICE(h); *minor = g->minor; return SUCCESS; }
EXPORT int nvmlDeviceGetMemoryInfo(handle h, nvmlMemory_t *memory) {
  DEVICE(h);
  struct instance *i = instance_of(g, h);
  memory->total = i ? i->total : g->total;
  memory->used = i ? i->used : g->used + g->reserved;
  memory->free = memory->total - memory->used;
  return SUCCESS;
}
EXPORT int nvmlDeviceGetMemoryInfo_v2(handle h, nvmlMemory_v2_t *memory) {
  DEVICE(h);
  if (memory->version != (sizeof *memory | 2 << 24)) return ARGUMENT_VERSION_MISMATCH;
  struct instance *i = instance_of(g, h);
  memory->total = i ? i->total : g->total;
  memory->reserved = i ? 0 : g->reserved;
  memory->used = i ? i->used : g->used;
  memory->free = memory->total - memory->reserved - memory->used;
  return SUCCESS;
}

/* Writes the records of one list, each `size` bytes, field by field: as the real library does, the padding is left. */
static int list(struct gpu *g, unsigned index, unsigned kind, unsigned size, unsigned *count, char *records) {
  unsigned have = 0;
  for (unsigned i = 0; i < g->processes; i++) have += g->process[i].kind == kind;
  unsigned more = kind == COMPUTE ? grown[index] : 0;
  if (kind == COMPUTE) grown[index] += g->grows;
  unsigned capacity = *count;
  *count = have + more;
  if (capacity < *count) return INSUFFICIENT_SIZE;
  if (g->clears && records) memset(records, 0, (size_t)capacity * size);
  for (unsigned i = 0, n = 0; i < g->processes + more; i++) {
    struct process late = { COMPUTE, 20000 + i - g->processes, ~0u, ~0u, 1u << 20 };
    struct process *p = i < g->processes ? &g->process[i] : &late;
    if (p->kind != kind) continue;
    char *record = records + (size_t)n++ * size;
    memcpy(record + offsetof(nvmlProcessInfo_v1_t, pid), &p->pid, sizeof p->pid);
    memcpy(record + offsetof(nvmlProcessInfo_v1_t, usedGpuMemory), &p->used, sizeof p->used);
    if (size < sizeof(nvmlProcessInfo_v2_t)) continue;
    memcpy(record + offsetof(nvmlProcessInfo_v2_t, gpuInstanceId), &p->gi, sizeof p->gi);
    memcpy(record + offsetof(nvmlProcessInfo_v2_t, computeInstanceId), &p->ci, sizeof p->ci);
    if (size < sizeof(nvmlProcessDetail_v1_t)) continue;
    u64 none = 0;
    memcpy(record + offsetof(nvmlProcessDetail_v1_t, usedGpuCcProtectedMemory), &none, sizeof none);
  }
  return SUCCESS;
}
#define LIST(name, kind, size) \
  EXPORT int name(handle h, unsigned *count, char *records) { \
    DEVICE(h); \
    return list(g, index_of(h), kind, size, count, records); \
  }
LIST(nvmlDeviceGetComputeRunningProcesses, COMPUTE, sizeof(nvmlProcessInfo_v1_t))
LIST(nvmlDeviceGetComputeRunningProcesses_v2, COMPUTE, sizeof(nvmlProcessInfo_v2_t))
LIST(nvmlDeviceGetComputeRunningProcesses_v3, COMPUTE, v3_record)
LIST(nvmlDeviceGetGraphicsRunningProcesses, GRAPHICS, sizeof(nvmlProcessInfo_v1_t))
LIST(nvmlDeviceGetGraphicsRunningProcesses_v2, GRAPHICS, sizeof(nvmlProcessInfo_v2_t))
LIST(nvmlDeviceGetGraphicsRunningProcesses_v3, GRAPHICS, v3_record)
LIST(nvmlDeviceGetMPSComputeRunningProcesses, MPS, sizeof(nvmlProcessInfo_v1_t))
LIST(nvmlDeviceGetMPSComputeRunningProcesses_v2, MPS, sizeof(nvmlProcessInfo_v2_t))
LIST(nvmlDeviceGetMPSComputeRunningProcesses_v3, MPS, v3_record)
EXPORT int nvmlDeviceGetConfComputeMemSizeInfo(handle h, void *info) { (void)h; (void)info; return NOT_SUPPORTED; }
EXPORT int nvmlDeviceGetRunningProcessDetailList(handle h, void *info) { (void)h; (void)info; return NOT_SUPPORTED; }

EXPORT int nvmlDeviceGetPersistenceMode(handle h, int *mode) { DEVICE(h); *mode = (int)g->persistence; return SUCCESS; }
EXPORT int nvmlDeviceGetComputeMode(handle h, int *mode) { DEVICE(h); *mode = (int)g->compute_mode; return SUCCESS; }
EXPORT int nvmlDeviceGetDisplayActive(handle h, int *active) { DEVICE(h); *active = (int)g->display; return SUCCESS; }
EXPORT int nvmlDeviceGetUtilizationRates(handle h, nvmlUtilization_t *rates) {
  DEVICE(h);
  rates->gpu = g->utilization;
  rates->memory = 0;
  return SUCCESS;
}
/* As on driver 580: the call succeeds, and a field that is not known has INVALID_ARGUMENT for its own status. */
EXPORT int nvmlDeviceGetFieldValues(handle h, int count, nvmlFieldValue_t *values) {
  DEVICE(h);
  for (int v = 0; v < count; v++) {
    values[v].nvmlReturn = INVALID_ARGUMENT;
    for (unsigned f = 0; f < g->fields; f++)
      if (g->field[f].id == values[v].fieldId) {
        values[v].nvmlReturn = g->field[f].status;
        values[v].valueType = 1; /* NVML_VALUE_TYPE_UNSIGNED_INT */
        values[v].value.uiVal = g->field[f].value;
      }
  }
  return SUCCESS;
}

EXPORT int nvmlDeviceGetMigMode(handle h, unsigned *current, unsigned *pending) {
  DEVICE(h);
  *current = g->mig_current;
  *pending = g->mig_pending;
  return SUCCESS;
}
EXPORT int nvmlDeviceGetMaxMigDeviceCount(handle h, unsigned *count) {
  DEVICE(h);
  *count = g->mig_current ? 7 : 0;
  return SUCCESS;
}
EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(handle h, unsigned place, handle *instance) {
  DEVICE(h);
  if (place >= g->instances) return NOT_FOUND;
  if (g->instance[place].gap) return (int)g->instance[place].gap;
  *instance = h + place + 1;
  return SUCCESS;
}
EXPORT int nvmlDeviceGetGpuInstanceId(handle h, unsigned *id) {
  DEVICE(h);
  if (!instance_of(g, h)) return INVALID_ARGUMENT;
  *id = instance_of(g, h)->gi;
  return SUCCESS;
}
EXPORT int nvmlDeviceGetComputeInstanceId(handle h, unsigned *id) {
  DEVICE(h);
  if (!instance_of(g, h)) return INVALID_ARGUMENT;
  *id = instance_of(g, h)->ci;
  return SUCCESS;
}

/* The only calls that change anything. What was done is left beside the scenario for the test to read. */
#define CHANGE(name) \
  EXPORT int name(handle h) { \
    DEVICE(h); \
    note_change(g->uuid, #name); \
    return SUCCESS; \
  }
CHANGE(nvmlDeviceResetGpuLockedClocks)
CHANGE(nvmlDeviceResetMemoryLockedClocks)
CHANGE(nvmlDeviceResetApplicationsClocks)

/* Accounting: who used the GPU, also those that are gone. */
EXPORT int nvmlDeviceGetAccountingMode(handle h, int *mode) { DEVICE(h); *mode = (int)g->accounting; return SUCCESS; }
EXPORT int nvmlDeviceGetAccountingPids(handle h, unsigned *count, unsigned *pids) {
  DEVICE(h);
  unsigned capacity = *count;
  *count = g->accounted_processes;
  if (capacity < *count) return INSUFFICIENT_SIZE;
  for (unsigned i = 0; i < g->accounted_processes; i++) pids[i] = g->accounted[i].pid;
  return SUCCESS;
}
EXPORT int nvmlDeviceGetAccountingStats(handle h, unsigned pid, nvmlAccountingStats_t *stats) {
  DEVICE(h);
  for (unsigned i = 0; i < g->accounted_processes; i++) {
    struct accounted *a = &g->accounted[i];
    if (a->pid != pid || a->is_gone) continue;
    memset(stats, 0, sizeof *stats);
    stats->maxMemoryUsage = a->peak;
    stats->startTime = a->started;
    stats->isRunning = a->running;
    return SUCCESS;
  }
  return NOT_FOUND;
}

/* What bears on a reset. Of all of these only the GPU itself speaks. */
#define HEALTH(h) \
  DEVICE(h); \
  struct health *x = &g->health
EXPORT int nvmlDeviceGetEccMode(handle h, int *current, int *pending) {
  HEALTH(h);
  *current = (int)x->ecc_current;
  *pending = (int)x->ecc_pending;
  return SUCCESS;
}
EXPORT int nvmlDeviceGetTotalEccErrors(handle h, int type, int counter, u64 *count) {
  HEALTH(h);
  /* Uncorrected and volatile; any other number would be another counter's. */
  if (type != 1 || counter != 0) return INVALID_ARGUMENT;
  *count = x->uncorrected;
  return SUCCESS;
}
EXPORT int nvmlDeviceGetRemappedRows(handle h, unsigned *corrected, unsigned *uncorrected, unsigned *pending, unsigned *failed) {
  HEALTH(h);
  *corrected = x->remapped[0];
  *uncorrected = x->remapped[1];
  *pending = x->remapped[2];
  *failed = x->remapped[3];
  return SUCCESS;
}
EXPORT int nvmlDeviceGetRetiredPagesPendingStatus(handle h, unsigned *pending) {
  HEALTH(h);
  *pending = x->retirement;
  return SUCCESS;
}
EXPORT int nvmlDeviceGetVirtualizationMode(handle h, unsigned *mode) { HEALTH(h); *mode = x->virtualization; return SUCCESS; }
EXPORT int nvmlDeviceGetArchitecture(handle h, unsigned *arch) { HEALTH(h); *arch = x->architecture; return SUCCESS; }
EXPORT int nvmlDeviceGetClockInfo(handle h, int type, unsigned *clock) {
  HEALTH(h);
  *clock = type == 1 ? x->sm_clock : 1; /* NVML_CLOCK_SM */
  return SUCCESS;
}
#define LINK(h, n) \
  HEALTH(h); \
  if (n >= LINKS) return INVALID_ARGUMENT; \
  struct link *l = &x->link[n]; \
  if (l->up == 2) return NOT_SUPPORTED
EXPORT int nvmlDeviceGetNvLinkState(handle h, unsigned n, unsigned *up) { LINK(h, n); *up = l->up; return SUCCESS; }
EXPORT int nvmlDeviceGetNvLinkRemoteDeviceType(handle h, unsigned n, unsigned *end) {
  LINK(h, n);
  *end = l->end;
  return l->up ? SUCCESS : NOT_SUPPORTED;
}
EXPORT int nvmlDeviceGetNvLinkRemotePciInfo_v2(handle h, unsigned n, nvmlPciInfo_t *pci) {
  LINK(h, n);
  memset(pci, 0, sizeof *pci);
  return l->up ? put(pci->busId, sizeof pci->busId, l->bus) : NOT_SUPPORTED;
}
EXPORT int nvmlDeviceGetGpuFabricInfo(handle h, nvmlGpuFabricInfo_t *fabric) {
  HEALTH(h);
  memset(fabric, 0xee, sizeof *fabric);
  fabric->state = (unsigned char)x->fabric_state;
  fabric->status = x->fabric_status;
  return SUCCESS;
}
EXPORT int nvmlDeviceGetGpuFabricInfoV(handle h, nvmlGpuFabricInfo_v2_t *fabric) {
  HEALTH(h);
  if (fabric->version != (sizeof *fabric | 2 << 24)) return ARGUMENT_VERSION_MISMATCH;
  memset(fabric->clusterUuid, 0xee, sizeof *fabric - offsetof(nvmlGpuFabricInfo_v2_t, clusterUuid));
  fabric->state = (unsigned char)x->fabric_state;
  fabric->status = x->fabric_status;
  return SUCCESS;
}
