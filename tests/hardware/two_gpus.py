#!/usr/bin/env python3
"""Runs gpuctl against real jobs on two real GPUs and prints a table of what was expected and what it said.

    cc -O2 -o floor tests/hardware/nvml_floor.c -ldl
    python3 tests/hardware/two_gpus.py dist/gpuctl ./floor [scene ...]

Needs root, two NVIDIA GPUs that nobody else uses and, for the scenes that say so, torch, jax and pynvml. It resets no GPU
and changes no setting of one. All of it takes less than 6 minutes, each scene has a limit of its own, and what it started
is gone at the end. What was run and what came of it goes to `$OUT/two_gpus`, or to a folder that is named at the end.
Ends with `N passed, N failed`, and says what it could not run.
"""
import os, pathlib, signal, sys, tempfile

sys.dont_write_bytecode = True  # the folder may be somebody's checkout

import bench, expectations, harness, scene_runner, two_gpus_isolation as isolation, two_gpus_memory as memory
from expectations import Condition, check, keep
from two_gpus_visible import visible_devices

# One scene more may be cleared up after it.
TOTAL_SECONDS = 300
ROUNDS = 15
# Against the C floor, and against nvidia-smi's table.
MOST_OF_FLOOR, MOST_OF_TABLE = 1.6, 0.35


def speed():
    """In turn in one run, so that all meet the same machine."""
    times = bench.measure(bench.contestants(harness.gpuctl_path(), os.path.abspath(sys.argv[2])), ROUNDS)
    keep("milliseconds", times)
    for line in bench.describe(times):
        print(f"     {line}", flush=True)
    middle = bench.medians(times)
    ours = middle["gpuctl snapshot"]
    for other, most in ((bench.FLOOR_NAME, MOST_OF_FLOOR), (bench.TABLE_NAME, MOST_OF_TABLE)):
        check("speed", f"snapshot against {other}", Condition(f"at most {most} ×", lambda said, most=most: said <= most),
              round(ours / middle[other], 2))


# With the seconds that each may take; the usual time is a third of it.
SCENES = [
    (visible_devices, 90),
    (isolation.isolation_variables, 70),
    (isolation.isolation_none, 30),
    (isolation.isolation_grades, 40),
    (isolation.isolation_monitor, 20),
    (isolation.isolation_stray, 50),
    (isolation.isolation_late, 40),
    (isolation.isolation_jax, 50),
    (isolation.isolation_nccl, 60),
    (memory.snapshot_ghost, 30),
    (memory.snapshot_managed, 25),
    (memory.snapshot_ranks, 40),
    (memory.diff_leftover, 40),
    (memory.diff_others, 40),
    (memory.clean_rank, 40),
    (speed, 40),
    # The longest comes last: where time is short, the others have been seen.
    (memory.diff_pinned, 100),
]


def main(only):
    known = [scene.__name__ for scene, _ in SCENES]
    unknown = [name for name in only if name not in known]
    if unknown:
        sys.exit(f"two_gpus.py: no such scene: {', '.join(unknown)}\n  there are: {', '.join(known)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    folder = pathlib.Path(os.environ.get("OUT") or tempfile.mkdtemp(prefix="gpuctl-")) / "two_gpus"
    gpus = harness.snapshot()["gpus"]
    if len(gpus) < 2:
        sys.exit(f"two_gpus.py: needs two GPUs, and there are {len(gpus)}")
    print(expectations.row("", "SCENE", "WHAT", "EXPECTED", "SAID"), flush=True)
    try:
        return scene_runner.run_scenes(SCENES, only, TOTAL_SECONDS)
    finally:
        left = harness.end_everything()
        if left:
            print(f"still running: {left}", flush=True)
        harness.write_calls(folder)
        expectations.write_results(folder)
        if "OUT" not in os.environ:
            print(f"written to {folder}", file=sys.stderr)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    missing = [path for path in sys.argv[1:3] if not os.access(path, os.X_OK)]
    if missing:
        sys.exit(f"two_gpus.py: not a program: {', '.join(missing)}")
    harness.configure(sys.argv[1])
    sys.exit(main(sys.argv[3:]))
