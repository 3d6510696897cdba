#!/usr/bin/env python3
"""Times gpuctl on a real GPU against the fewest NVML calls that could do it and against nvidia-smi, all in turn in one run.

    cc -O2 -o floor tests/hardware/nvml_floor.c -ldl
    python3 tests/hardware/bench.py dist/gpuctl ./floor [rounds]
"""
import glob, resource, statistics, subprocess, sys, time

GPUCTL, FLOOR = sys.argv[1], sys.argv[2]
ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else 25
LIBRARIES = [path for pattern in ("/usr/lib/*-linux-gnu", "/usr/lib64", "/usr/local/nvidia/lib64")
             for path in glob.glob(f"{pattern}/libnvidia-ml.so.1")]
CONTESTANTS = {
    "NVML floor (C)": [FLOOR, *LIBRARIES[:1]],
    "gpuctl snapshot": [GPUCTL, "snapshot"],
    "gpuctl snapshot --json": [GPUCTL, "snapshot", "--json"],
    "gpuctl --version": [GPUCTL, "--version"],
    "nvidia-smi": ["nvidia-smi"],
    "nvidia-smi, one CSV line": ["nvidia-smi", "--query-gpu=name,uuid,memory.used", "--format=csv"],
    "nvidia-smi -q -x": ["nvidia-smi", "-q", "-x"],
}


def timed(command):
    started = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return (time.perf_counter() - started) * 1e3


def main():
    times = {name: [] for name in CONTESTANTS}
    for _ in range(ROUNDS):
        for name, command in CONTESTANTS.items():
            times[name].append(timed(command))
    floor = statistics.median(times["NVML floor (C)"])
    for name, each in times.items():
        middle = statistics.median(each)
        print(f"{name:26} {middle:7.1f} ms  from {min(each):6.1f} to {max(each):6.1f}  {middle / floor:5.2f} x the floor")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([GPUCTL, "diff", "--", "sleep", "10"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"gpuctl diff -- sleep 10: {used * 1e3:.0f} ms of CPU, {used * 10:.1f} % of a core, start and end included")


main()
