#!/usr/bin/env python3
"""A job on a GPU by the driver's own interface, with no framework to wait for. It does its steps in order, then ends.

    python3 tests/hardware/cuda_job.py context:0 alloc:256 ready:/tmp/up sleep:5

    look           starts CUDA and notes what it shows; an error of CUDA is noted as well
    context:N      takes a context on device N, which the steps after it use
    alloc:MIB      device memory
    managed:MIB    managed memory, touched on the device
    pinned:MIB     host memory that the device reads
    fork           leaves a child that only sleeps, for at most 90 s
    print          writes what is known as one line of JSON
    ready:PATH     the same to a file, all at once
    wait:PATH      until that file is there, for at most 60 s
    sleep:SECONDS
    exit           at once, as a process that is killed: nothing is given back first
"""
import ctypes, json, os, sys, time

MIB = 1 << 20
LIBRARIES = ("libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1", "/usr/lib64/libcuda.so.1")
LONGEST_SLEEP, LONGEST_WAIT = 90, 60
CU_MEM_ATTACH_GLOBAL = 1


class Job:
    def __init__(self):
        self.library = None
        self.facts = {"pid": os.getpid(), "variable": os.environ.get("CUDA_VISIBLE_DEVICES")}

    def look(self, _=""):
        self.library = load()
        self.facts["init"] = self.library.cuInit(0)
        count = ctypes.c_int(0)
        self.facts["countStatus"] = self.library.cuDeviceGetCount(ctypes.byref(count))
        self.facts["devices"] = [self.uuid(ordinal) for ordinal in range(count.value)]

    def uuid(self, ordinal):
        device, raw = ctypes.c_int(), (ctypes.c_ubyte * 16)()
        self.call("cuDeviceGet", ctypes.byref(device), ordinal)
        self.call("cuDeviceGetUuid", raw, device)
        digits = bytes(raw).hex()
        return "GPU-" + "-".join(digits[start:end] for start, end in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32)))

    def context(self, ordinal):
        if self.library is None:
            self.look()
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), int(ordinal))
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def alloc(self, mib):
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(int(mib) * MIB))

    def managed(self, mib):
        address, size = ctypes.c_uint64(), ctypes.c_size_t(int(mib) * MIB)
        self.call("cuMemAllocManaged", ctypes.byref(address), size, CU_MEM_ATTACH_GLOBAL)
        self.call("cuMemsetD8_v2", address, ctypes.c_ubyte(1), size)
        self.call("cuCtxSynchronize")

    def pinned(self, mib):
        address = ctypes.c_void_p()
        self.call("cuMemAllocHost_v2", ctypes.byref(address), ctypes.c_size_t(int(mib) * MIB))

    def fork(self, _):
        child = os.fork()
        if child == 0:
            time.sleep(LONGEST_SLEEP)
            os._exit(0)
        self.facts["child"] = child

    def print(self, _):
        print(json.dumps(self.facts), flush=True)

    def ready(self, path):
        with open(f"{path}.part", "w") as file:
            json.dump(self.facts, file)
        os.rename(f"{path}.part", path)

    def wait(self, path):
        end = time.monotonic() + LONGEST_WAIT
        while not os.path.exists(path) and time.monotonic() < end:
            time.sleep(0.02)

    def sleep(self, seconds):
        time.sleep(min(float(seconds), LONGEST_SLEEP))

    def exit(self, _):
        os._exit(0)

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status != 0:
            sys.exit(f"cuda_job: {name}: CUDA error {status}")


STEPS = ("look", "context", "alloc", "managed", "pinned", "fork", "print", "ready", "wait", "sleep", "exit")


def load():
    for path in LIBRARIES:
        try:
            return ctypes.CDLL(path)
        except OSError:
            continue
    sys.exit(f"cuda_job: none of these can be loaded: {', '.join(LIBRARIES)}")


def main(steps):
    words = [step.partition(":") for step in steps]
    unknown = [name for name, _, _ in words if name not in STEPS]
    if unknown or not words:
        sys.exit(f"cuda_job: no such step: {', '.join(unknown)}\n{__doc__}")
    job = Job()
    for name, _, argument in words:
        getattr(job, name)(argument)


if __name__ == "__main__":
    main(sys.argv[1:])
