/*
 * The fewest calls of NVML that make a snapshot: for each GPU its name, UUID, memory and processes. No tool that asks the
 * driver for as much can be quicker, so it is what gpuctl's speed is held against. Like gpuctl it skips nvmlShutdown, which
 * takes 4 ms, and it declares what it needs itself, so that no NVIDIA header has to be installed.
 *
 *     cc -O2 -o nvml_floor nvml_floor.c -ldl && ./nvml_floor [/path/to/libnvidia-ml.so.1]
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef void *device_t;

/* nvmlMemory_v2_t of nvml.h; its version is the size and, in the top byte, 2. */
struct memory {
  unsigned version;
  unsigned long long total, reserved, free, used;
};

/* nvmlProcessInfo_t, as the _v3 calls fill it. */
struct process {
  unsigned pid;
  unsigned long long used;
  unsigned gpu_instance, compute_instance;
};

enum { MOST_PROCESSES = 256 };

static void *library;

static void *find(const char *name) {
  void *symbol = dlsym(library, name);
  if (!symbol) {
    fprintf(stderr, "nvml_floor: the library has no %s\n", name);
    _exit(3);
  }
  return symbol;
}

int main(int argc, char **argv) {
  library = dlopen(argc > 1 ? argv[1] : "libnvidia-ml.so.1", RTLD_NOW);
  if (!library) {
    fprintf(stderr, "nvml_floor: %s\n", dlerror());
    return 3;
  }
  int (*init)(unsigned) = find("nvmlInitWithFlags");
  int (*count_gpus)(unsigned *) = find("nvmlDeviceGetCount_v2");
  int (*open_gpu)(unsigned, device_t *) = find("nvmlDeviceGetHandleByIndex_v2");
  int (*read_name)(device_t, char *, unsigned) = find("nvmlDeviceGetName");
  int (*read_uuid)(device_t, char *, unsigned) = find("nvmlDeviceGetUUID");
  int (*read_memory)(device_t, struct memory *) = find("nvmlDeviceGetMemoryInfo_v2");
  int (*list_compute)(device_t, unsigned *, struct process *) = find("nvmlDeviceGetComputeRunningProcesses_v3");
  int (*list_graphics)(device_t, unsigned *, struct process *) = find("nvmlDeviceGetGraphicsRunningProcesses_v3");

  unsigned gpus = 0;
  if (init(0) != 0 || count_gpus(&gpus) != 0) return 3;
  for (unsigned index = 0; index < gpus; index++) {
    device_t gpu;
    char name[96] = "", uuid[96] = "";
    struct memory memory = {.version = sizeof memory | 2u << 24};
    struct process processes[MOST_PROCESSES];
    unsigned compute = MOST_PROCESSES, graphics = MOST_PROCESSES;
    if (open_gpu(index, &gpu) != 0) continue;
    read_name(gpu, name, sizeof name);
    read_uuid(gpu, uuid, sizeof uuid);
    if (read_memory(gpu, &memory) != 0) continue;
    if (list_compute(gpu, &compute, processes) != 0) compute = 0;
    if (list_graphics(gpu, &graphics, processes) != 0) graphics = 0;
    printf("%u %s %s used %llu processes %u\n", index, name, uuid, memory.used, compute + graphics);
  }
  fflush(stdout);
  _exit(0);
}
