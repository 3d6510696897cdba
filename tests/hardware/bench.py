#!/usr/bin/env python3
"""Times gpuctl on a real GPU against the fewest NVML calls that could do it and against nvidia-smi, all in turn in one run.

    cc -O2 -o floor tests/hardware/nvml_floor.c -ldl
    python3 tests/hardware/bench.py dist/gpuctl ./floor [rounds]
"""
import glob, resource, statistics, subprocess, sys, time

ROUNDS = 25
FLOOR_NAME, TABLE_NAME = "NVML floor (C)", "nvidia-smi"
PLACES = ("/usr/lib/*-linux-gnu", "/usr/lib64", "/usr/local/nvidia/lib64")


def contestants(gpuctl, floor):
    """What is timed, by name."""
    libraries = [path for pattern in PLACES for path in glob.glob(f"{pattern}/libnvidia-ml.so.1")]
    return {
        FLOOR_NAME: [floor, *libraries[:1]],
        "gpuctl snapshot": [gpuctl, "snapshot"],
        "gpuctl snapshot --json": [gpuctl, "snapshot", "--json"],
        "gpuctl --version": [gpuctl, "--version"],
        TABLE_NAME: ["nvidia-smi"],
        "nvidia-smi, one CSV line": ["nvidia-smi", "--query-gpu=name,uuid,memory.used", "--format=csv"],
        "nvidia-smi -q -x": ["nvidia-smi", "-q", "-x"],
    }


def measure(commands, rounds):
    """Milliseconds of each command in each round. One that fails ends it: failing is quick, and proves nothing."""
    times = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            times[name].append(timed(command))
    return times


def timed(command):
    started = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - started) * 1e3


def medians(times):
    return {name: statistics.median(each) for name, each in times.items()}


def describe(times):
    """One line for each command."""
    middle = medians(times)
    return [
        f"{name:26} {middle[name]:7.1f} ms  from {min(each):6.1f} to {max(each):6.1f}  "
        f"{middle[name] / middle[FLOOR_NAME]:5.2f} x the floor" for name, each in times.items()
    ]


def main(gpuctl, floor, rounds=ROUNDS):
    print("\n".join(describe(measure(contestants(gpuctl, floor), int(rounds)))))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([gpuctl, "diff", "--", "sleep", "10"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"gpuctl diff -- sleep 10: {used * 1e3:.0f} ms of CPU, {used * 10:.1f} % of a core, start and end included")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
