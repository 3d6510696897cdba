#!/usr/bin/env python3
"""Runs gpuctl against real jobs on a real GPU and prints what was expected beside what it said.

    python3 tests/hardware/run.py dist/gpuctl [scene ...]

Needs root, python3 with torch (and jax and cupy for the scenes that say so) and an NVIDIA GPU nobody else uses. Never
resets the GPU or changes a setting of it. Ends with `N passed, N failed`, and says what it could not run.
"""
import json, os, pathlib, signal, subprocess, sys, textwrap, time

sys.dont_write_bytecode = True  # the folder may be somebody's checkout

from expectations import Condition, between, check, matching
from harness import FOLDER, class_of, configure, environment, holder, job, kill, run, snapshot, used, wait_idle
from scene_runner import run_scenes

SCENE_SECONDS = 120


def clean(scene, pid, *more):
    """Ends one holder by gpuctl and checks that the memory came back and that the outcome says so."""
    result = run("clean-zombies", "--yes", "--json", "--min-age", "0s", "--confirm", "1s", "--pid", str(pid),
                 "--audit-log", str(FOLDER / "audit.jsonl"), *more)
    done = json.loads(result.stdout) if result.stdout else {"acts": []}
    for act in done["acts"]:
        print(f"     {scene}: PID {act['pid']} {act['class']} {act['outcome']}: {act['bytesBefore']} bytes before, "
              f"{act['bytesAfter']} after, {act['releaseMs'] and round(act['releaseMs'])} ms", flush=True)
    check(scene, "clean-zombies status", 0, result.returncode)
    check(scene, "outcomes", Condition("all ended", lambda said: said and all(each.startswith("ended") for each in said)),
          [act["outcome"] for act in done["acts"]])
    wait_idle()


FORK = """
    import torch, os, time
    x = torch.empty({gib} << 30, dtype=torch.uint8, device="cuda"); torch.cuda.synchronize()
    pid = os.fork()
    if pid == 0: time.sleep(120); os._exit(0)
    print(pid, flush=True); time.sleep(120)
"""


def idle():
    look = snapshot()
    check("idle", "driver", Condition("a version", bool), look["driver"]["version"])
    check("idle", "process lists", {"known"}, {gpu["processList"] for gpu in look["gpus"]})
    check("idle", "memory used", 0, used(look))
    check("idle", "holders", [], [each["class"] for each in look["holders"] if each["class"] not in ("monitor", "service")])


def live():
    process, _ = job("live", """
        import torch
        x = torch.empty(1 << 30, dtype=torch.uint8, device="cuda"); torch.cuda.synchronize(); print(1, flush=True); input()
    """)
    look = snapshot()
    check("live", "class", "live", class_of(look, process.pid))
    check("live", "context", between(1500, 1700), holder(look, process.pid)["devices"][0]["contextBytes"])
    os.kill(process.pid, signal.SIGSTOP)
    check("live", "class when suspended", "stopped", class_of(snapshot(), process.pid))
    process.kill(); process.wait(); wait_idle()


def monitor():
    process, _ = job("monitor", """
        import pynvml; pynvml.nvmlInit(); h = pynvml.nvmlDeviceGetHandleByIndex(0); print(1, flush=True); input()
    """)
    check("monitor", "class", "monitor", class_of(snapshot(), process.pid))
    process.kill(); process.wait()


def forked_child():
    process, line = job("forked", FORK.format(gib=2))
    child = int(line)
    check("forked-child", "class while the parent lives", "live", class_of(snapshot(), child))
    process.kill(); process.wait()
    look = snapshot()
    check("forked-child", "class", "inherited", class_of(look, child))
    check("forked-child", "ghosts and their holders", [(process.pid, [child])],
          [(ghost["pid"], [each["pid"] for each in ghost["likelyHolders"]]) for ghost in look["ghosts"]])
    print(run("snapshot").stdout, flush=True)
    clean("forked-child", child)


def zombie_leader():
    process, _ = job("leader", """
        import torch, threading, time, ctypes
        x = torch.empty(1 << 30, dtype=torch.uint8, device="cuda"); torch.cuda.synchronize()
        threading.Thread(target=lambda: time.sleep(120)).start()
        print(1, flush=True); ctypes.CDLL(None).syscall(60, 0)
    """)
    time.sleep(0.5)
    look = snapshot()
    check("zombie-leader", "class", "zombie-leader", class_of(look, process.pid))
    check("zombie-leader", "ghosts", [], look["ghosts"])
    clean("zombie-leader", process.pid)
    process.wait()


def spawn_orphans():
    process, line = job("spawn", """
        import torch, multiprocessing as mp, os, time
        def f(i, q):
            x = torch.empty(1 << 29, dtype=torch.uint8, device="cuda"); torch.cuda.synchronize(); q.put(os.getpid()); time.sleep(120)
        if __name__ == "__main__":
            c = mp.get_context("spawn"); q = c.Queue(); ps = [c.Process(target=f, args=(i, q)) for i in range(2)]
            for p in ps: p.start()
            print(q.get(), q.get(), flush=True); time.sleep(120)
    """)
    workers = [int(word) for word in line.split()]
    check("spawn-orphans", "classes while main lives", ["live", "live"], [class_of(snapshot(), pid) for pid in workers])
    process.kill(); process.wait()
    look = snapshot()
    check("spawn-orphans", "classes", ["orphan", "orphan"], [class_of(look, pid) for pid in workers])
    clean("spawn-orphans", f"{workers[0]},{workers[1]}")


def stopped_orphan():
    """A suspended leftover cannot act on SIGTERM until it is continued."""
    process, line = job("forked3", FORK.format(gib=1))
    child = int(line)
    process.kill(); process.wait()
    os.kill(child, signal.SIGSTOP)
    check("stopped-orphan", "class", "inherited", class_of(snapshot(), child))
    clean("stopped-orphan", child)


def dataloader_orphans():
    process, line = job("loader", """
        import torch, time
        from torch.utils.data import DataLoader, Dataset
        class D(Dataset):
            def __len__(s): return 10**9
            def __getitem__(s, i): return torch.zeros(1)
        x = torch.empty(1 << 30, dtype=torch.uint8, device="cuda"); torch.cuda.synchronize()
        it = iter(DataLoader(D(), batch_size=4, num_workers=2)); next(it)
        print(" ".join(str(w.pid) for w in it._workers), flush=True); time.sleep(120)
    """)
    workers = [int(word) for word in line.split()]
    check("dataloader-orphans", "classes while main lives", ["live", "live"], [class_of(snapshot(), pid) for pid in workers])
    process.kill(); process.wait()
    look = snapshot()
    check("dataloader-orphans", "classes", ["inherited", "inherited"], [class_of(look, pid) for pid in workers])
    check("dataloader-orphans", "likely holders", sorted(workers),
          sorted(each["pid"] for ghost in look["ghosts"] for each in ghost["likelyHolders"]))
    started = time.time(); wait_idle(30)
    print(f"     dataloader-orphans: gone by themselves after {time.time() - started:.1f} s", flush=True)


def ipc_importer():
    process, line = job("ipc", """
        import torch, torch.multiprocessing as mp, time
        def child(q, r):
            t = q.get(); r.put(1); time.sleep(120)
        if __name__ == "__main__":
            c = mp.get_context("spawn"); q = c.Queue(); r = c.Queue(); p = c.Process(target=child, args=(q, r)); p.start()
            x = torch.empty(3 << 30, dtype=torch.uint8, device="cuda"); q.put(x); r.get(); print(p.pid, flush=True); time.sleep(120)
    """)
    importer = int(line)
    before = FOLDER / "before.json"
    run("snapshot", "--json", "-o", str(before))
    process.kill(); process.wait(); time.sleep(0.5)
    look = snapshot()
    check("ipc-importer", "class", "orphan", class_of(look, importer))
    check("ipc-importer", "context", Condition("more than 3 GiB", lambda said: said > 3 << 30),
          holder(look, importer)["devices"][0]["contextBytes"])
    said = run("diff", str(before), "-", "--json")
    check("ipc-importer", "diff of two looks names the move", matching("moved"), said.stdout + said.stderr)
    clean("ipc-importer", importer)


def detached_beside():
    """A nohup job with parent 1 and an NVML monitor beside a leftover: only the leftover is ended."""
    path = FOLDER / "nohup.py"
    path.write_text("import torch,time,os\nx=torch.empty(1<<28,dtype=torch.uint8,device='cuda');torch.cuda.synchronize()\n"
                    f"open('{FOLDER}/nohup.pid','w').write(str(os.getpid()))\ntime.sleep(120)\n")
    subprocess.run(f"nohup {sys.executable} {path} >/dev/null 2>&1 &", shell=True, env=environment())
    end = time.time() + 30
    while time.time() < end and not (FOLDER / "nohup.pid").exists():
        time.sleep(0.1)
    kept = int((FOLDER / "nohup.pid").read_text())
    process, line = job("forked2", FORK.format(gib=1))
    child = int(line)
    process.kill(); process.wait()
    look = snapshot()
    check("beside", "class of the nohup job", "detached", class_of(look, kept))
    check("beside", "class of the leftover", "inherited", class_of(look, child))
    result = run("clean-zombies", "--yes", "--json", "--min-age", "0s", "--confirm", "1s", "--audit-log", str(FOLDER / "audit.jsonl"))
    check("beside", "ended", [child], [act["pid"] for act in json.loads(result.stdout)["acts"]])
    check("beside", "the nohup job lives", True, pathlib.Path(f"/proc/{kept}").exists())
    kill(kept); wait_idle()


def diff_jobs():
    path = FOLDER / "jax_job.py"
    path.write_text(textwrap.dedent("""
        import os; os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
        import numpy as np; from jax import numpy as jnp; import time
        a = np.ones(1000000); b = jnp.array(a); b.block_until_ready(); time.sleep(.5); del b; time.sleep(.5)
    """))
    result = run("diff", "--json", "--", sys.executable, str(path))
    said = json.loads(result.stderr[result.stderr.index("{\n"):])
    check("diff", "status of a JAX job", 0, result.returncode)
    check("diff", "verdict", "released", said["verdict"])
    print(run("diff", "--", sys.executable, str(path)).stderr, flush=True)
    path = FOLDER / "leaver.py"
    path.write_text(textwrap.dedent("""
        import torch, os, time
        x = torch.empty(2 << 30, dtype=torch.uint8, device="cuda"); torch.cuda.synchronize()
        if os.fork() == 0: os.setsid(); time.sleep(120); os._exit(0)
        os._exit(0)
    """))
    result = run("diff", "--settle", "2s", "--", sys.executable, str(path))
    print(result.stderr, flush=True)
    check("diff", "status of a job that leaves a child", 10, result.returncode)
    look = snapshot()
    left = [each["pid"] for each in look["holders"] if each["class"] == "inherited"]
    check("diff", "the holder is named",
          Condition("a pid of the report", lambda pids: pids and all(str(pid) in result.stderr for pid in pids)), left)
    result = run("diff", "--settle", "2s", "--kill-leftovers", "--audit-log", str(FOLDER / "audit.jsonl"), "--",
                 sys.executable, str(path))
    print(result.stderr, flush=True)
    check("diff", "memory is back after --kill-leftovers", matching("came back|freed"), result.stderr)
    kill(*left); wait_idle()


def reset_plan():
    """The verdict on a reset and its plan name who has the GPU. Nothing here carries one out."""
    def plan():
        result = run("reset-gpu", "0", "--json")
        return result.returncode, json.loads(result.stdout)

    def blocker_of(said, pid):
        return next((each["kind"] for each in said["blockers"] if each["pid"] == pid), None)

    status, said = plan()
    check("reset-plan", "idle: status, outcome, warranted", (10, "plan", False), (status, said["outcome"], said["warranted"]))
    check("reset-plan", "idle: advice", ["none"], [gpu["advice"] for gpu in said["gpus"]])
    check("reset-plan", "idle: who blocks", [], [each["pid"] for each in said["blockers"] if each["pid"] is not None])
    check("reset-plan", "idle: steps", Condition("persistence off before the reset and on after it", lambda kinds: (
        kinds.index("persistence-off") < kinds.index("reset") < kinds.index("persistence-on") < kinds.index("read-again"))),
          [step["kind"] for step in said["steps"]])
    process, _ = job("held", """
        import torch
        x = torch.empty(1 << 30, dtype=torch.uint8, device="cuda"); torch.cuda.synchronize(); print(1, flush=True); input()
    """)
    watcher, _ = job("watcher", """
        import pynvml; pynvml.nvmlInit(); h = pynvml.nvmlDeviceGetHandleByIndex(0); print(1, flush=True); input()
    """)
    _, said = plan()
    check("reset-plan", "a job at work", "holder", blocker_of(said, process.pid))
    check("reset-plan", "a monitor", "opener", blocker_of(said, watcher.pid))
    check("reset-plan", "held: steps", [], said["steps"])
    watcher.kill(); watcher.wait(); process.kill(); process.wait(); wait_idle()
    process, line = job("forked4", FORK.format(gib=1))
    child = int(line)
    process.kill(); process.wait()
    _, said = plan()
    check("reset-plan", "a ghost: advice, whom", ("end-processes", [child]), (said["gpus"][0]["advice"], said["gpus"][0]["processes"]))
    check("reset-plan", "a ghost: its keeper blocks", "holder", blocker_of(said, child))
    print(run("reset-gpu", "0").stdout, flush=True)
    kill(child); wait_idle()
    process, _ = job("leader2", """
        import torch, threading, time, ctypes
        x = torch.empty(1 << 30, dtype=torch.uint8, device="cuda"); torch.cuda.synchronize()
        threading.Thread(target=lambda: time.sleep(120)).start()
        print(1, flush=True); ctypes.CDLL(None).syscall(60, 0)
    """)
    time.sleep(0.5)
    _, said = plan()
    check("reset-plan", "a zombie leader blocks", "holder", blocker_of(said, process.pid))
    process.kill(); process.wait(); wait_idle()
    smi = ["nvidia-smi", "--query-gpu=persistence_mode", "--format=csv,noheader"]
    check("reset-plan", "persistence mode is as it was", "Enabled", subprocess.run(smi, capture_output=True, text=True).stdout.strip())


SCENES = [idle, live, monitor, forked_child, zombie_leader, spawn_orphans, stopped_orphan, dataloader_orphans, ipc_importer,
          detached_beside, diff_jobs, reset_plan]


if __name__ == "__main__":
    configure(sys.argv[1] if len(sys.argv) > 1 else "dist/gpuctl")
    sys.exit(run_scenes([(scene, SCENE_SECONDS) for scene in SCENES], sys.argv[2:]))
