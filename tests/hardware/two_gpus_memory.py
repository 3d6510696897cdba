"""Scenes of `snapshot`, `diff` and `clean-zombies` on two GPUs: whose memory it is, and whether it comes back."""
import json, os, re, shlex, subprocess, sys, time

from expectations import MIB, Condition, between, check, keep, matching
from harness import (FOLDER, HERE, Call, class_of, cuda_job, hold, holder, read_report, report_path, run, snapshot, start,
                     used, wait_for)

RANKS = [sys.executable, str(HERE / "ranks.py")]
RANK_VARIABLES = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29511", "TORCHELASTIC_RUN_ID": "two-gpus"}
PINNED_MIB, DEVICE_MIB = 20 * 1024, 8 * 1024


def by_index(entries):
    return sorted(entries, key=lambda gpu: gpu["index"])


def gpu_uuids(look):
    return [gpu["uuid"] for gpu in by_index(look["gpus"])]


def rank_variables(rank):
    return {**RANK_VARIABLES, "RANK": str(rank), "LOCAL_RANK": str(rank)}


def at_least(mib):
    return Condition(f"at least {mib} MiB", lambda said: said >= mib * MIB)


def containing(pid):
    return Condition(f"names PID {pid}", lambda said: str(pid) in said)


def snapshot_ghost():
    """A dead process is listed on both GPUs; one forked child keeps both contexts."""
    parent, facts = hold("context:0", "alloc:256", "context:1", "alloc:256", "fork")
    parent.kill(); parent.wait()
    child = facts["child"]
    look = snapshot()
    check("snapshot_ghost", "ghosts: pid, GPU, who keeps it", sorted((parent.pid, uuid, (child,)) for uuid in gpu_uuids(look)),
          sorted((each["pid"], each["gpu"], tuple(keeper["pid"] for keeper in each["likelyHolders"])) for each in look["ghosts"]))
    check("snapshot_ghost", "bytes of each ghost", Condition("more than 700 MiB", lambda said: min(said) > 700 * MIB),
          [each["contextBytes"] for each in look["ghosts"]])
    check("snapshot_ghost", "class of the child", "inherited", class_of(look, child))
    check("snapshot_ghost", "the table", containing(child), run("snapshot").stdout)
    smi = ["nvidia-smi", "--query-compute-apps=gpu_uuid,pid,process_name,used_memory", "--format=csv"]
    keep("nvidia-smi on a ghost", subprocess.run(smi, capture_output=True, text=True, timeout=10).stdout)


def snapshot_managed():
    """Managed memory is in nobody's row."""
    _, facts = hold("context:0", "managed:256", env={"CUDA_VISIBLE_DEVICES": "0"})
    gpu = by_index(snapshot()["gpus"])[0]
    check("snapshot_managed", "unattributed", between(240, 300), gpu["unattributedBytes"])
    check("snapshot_managed", "its cause", matching(rf"managed memory.*\b{facts['pid']}\b"), gpu["unattributedCause"] or "")


def snapshot_ranks():
    """Two ranks of one job: at work under their launcher, and when that is gone."""
    paths = [FOLDER / f"rank-{rank}-{os.getpid()}" for rank in (0, 1)]
    ready = f"ready:{FOLDER}/rank-{{rank}}-{os.getpid()}"
    launcher = start([*RANKS, *cuda_job("context:{rank}", "alloc:256", ready, "sleep:90")])
    wait_for("both ranks are ready", lambda: all(path.exists() for path in paths), launcher)
    pids = [json.loads(path.read_text())["pid"] for path in paths]
    look, table = snapshot(), run("snapshot").stdout
    check("snapshot_ranks", "classes under the launcher", ["live", "live"], [class_of(look, pid) for pid in pids])
    bytes_of = [tuple(device_bytes(look, pid)) for pid in pids]
    check("snapshot_ranks", "each has a context on its own GPU alone",
          Condition("more than 600 MiB, 0; 0, more", lambda said: all(
              (size > 600 * MIB) == (rank == index) and (rank == index or size == 0)
              for rank, sizes in enumerate(said) for index, size in enumerate(sizes))), bytes_of)
    check("snapshot_ranks", "the table shows them as one job", matching(r"torchrun job .*2 ranks on GPU 0-1"), table)
    launcher.kill(); launcher.wait()
    look, table = snapshot(), run("snapshot").stdout
    check("snapshot_ranks", "classes without it", ["orphan", "orphan"], [class_of(look, pid) for pid in pids])
    check("snapshot_ranks", "the table explains them once",
          Condition("one reason for both", lambda said: said.count("was started as a rank") == 1), table)


def device_bytes(look, pid):
    devices = {each["gpu"]: each["contextBytes"] for each in (holder(look, pid) or {"devices": []})["devices"]}
    return [devices.get(uuid, 0) for uuid in gpu_uuids(look)]


def diff_leftover():
    """A job over both GPUs: one process ends as it should, one leaves a child that keeps what it had."""
    path = FOLDER / "left-behind"
    # Each sees its own GPU alone: what is merely visible costs 3 MiB, which a child keeps as well.
    good = "CUDA_VISIBLE_DEVICES=0 " + shlex.join(cuda_job("context:0", "alloc:512", "sleep:1"))
    leaver = "CUDA_VISIBLE_DEVICES=1 " + shlex.join(
        cuda_job("context:0", "alloc:1024", "sleep:1", "fork", f"ready:{path}", "exit"))
    report_file = report_path()
    call = run("diff", "--settle", "2s", "--json", "-o", report_file, "--", "/bin/sh", "-c", f"{good} & {leaver}; wait", timeout=60)
    report = read_report(report_file)
    child = json.loads(path.read_text())["child"]
    gpus = by_index(report["gpus"])
    check("diff_leftover", "status", 10, call.returncode)
    check("diff_leftover", "verdicts by GPU", ["released", "held"], [gpu["verdict"] for gpu in gpus])
    check("diff_leftover", "GPU 1 is held by", [child], gpus[1]["heldBy"])
    check("diff_leftover", "leftovers: pid, of the job, class", [(child, True, "inherited")],
          [(each["pid"], each["ofJob"], each["class"]) for each in report["leftovers"]])
    check("diff_leftover", "left on GPU 0", Condition("at most 1 MiB", lambda said: said <= MIB), gpus[0]["leftBytes"])
    check("diff_leftover", "left on GPU 1", between(1400, 1800), gpus[1]["leftBytes"])


def diff_pinned():
    """A killed process with 20 GiB of pinned host memory takes seconds to give its memory on the device back."""
    call, report = run_pinned("slow", "--settle", "1500ms")
    gpu = by_index(report["gpus"])[0]
    # The last look of gpuctl may be the one that the driver answers only once it has given everything back.
    check("diff_pinned", "after 1.5 s", Condition("still-releasing with a rate, or back since", lambda said: (
        said[0] == "still-releasing" and said[1] > 0 and said[2] > MIB) or (said[0] == "released" and said[2] <= MIB)),
          (gpu["verdict"], gpu["releaseBytesPerSecond"], gpu["leftBytes"], gpu["releaseMs"]))
    curve, since = [], time.monotonic()
    while not curve or (curve[-1][1] > 4 * MIB and curve[-1][0] < 20):
        curve.append((round(time.monotonic() - since, 2), used(snapshot())))
    keep("release of pinned memory: seconds, bytes", curve)
    call, report = run_pinned("whole", "--settle", "25s")
    gpu = by_index(report["gpus"])[0]
    check("diff_pinned", "with time to settle: status", 0, call.returncode)
    check("diff_pinned", "with time to settle: verdict", "released", gpu["verdict"])
    check("diff_pinned", "with time to settle: in", Condition("1 to 25 s", lambda said: 1000 <= said <= 25_000), gpu["releaseMs"])


def run_pinned(name, *options):
    """A shell starts the holder, kills it once it has its memory, and ends at once: the release goes on after the job."""
    path = FOLDER / f"pinned-{name}"
    pinned = shlex.join(cuda_job("context:0", f"alloc:{DEVICE_MIB}", f"pinned:{PINNED_MIB}", f"ready:{path}", "sleep:60"))
    shell = f"{pinned} & n=$!; while [ ! -e {path} ] && kill -0 $n; do sleep 0.1; done; kill -KILL $n; exit 0"
    report_file = report_path()
    call = run("diff", *options, "--json", "-o", report_file, "--", "/bin/sh", "-c", shell, timeout=90,
               env={"CUDA_VISIBLE_DEVICES": "0"})
    return call, read_report(report_file)


def diff_others():
    """Somebody else's job starts on both GPUs while ours runs on the first, and outlives it."""
    up, go = FOLDER / "others-up", FOLDER / "others-go"
    report_file = report_path()
    call = Call("diff", "--json", "-o", report_file, "--", *cuda_job("context:0", "alloc:512", f"ready:{up}", f"wait:{go}"),
                env={"CUDA_VISIBLE_DEVICES": "0"})
    wait_for("the job is ready", up.exists, call.process)
    hold("context:0", "alloc:256", "context:1", "alloc:512", name="other")
    time.sleep(0.5)
    go.touch()
    call.finish(60)
    report = read_report(report_file)
    gpus = by_index(report["gpus"])
    check("diff_others", "status", 0, call.returncode)
    check("diff_others", "verdicts by GPU", ["released", "changed-by-others"], [gpu["verdict"] for gpu in gpus])
    check("diff_others", "others on GPU 0", at_least(600), gpus[0]["othersBytes"])
    check("diff_others", "others on GPU 1", at_least(900), gpus[1]["othersBytes"])
    check("diff_others", "leftovers of the job", [], [each["pid"] for each in report["leftovers"] if each["ofJob"]])


def clean_rank():
    """Rank 0 is killed and its forked loader keeps the memory: that goes, rank 1 stays as it is."""
    first, facts = hold("context:0", "alloc:512", "fork", env=rank_variables(0), name="rank-0")
    second, _ = hold("context:1", "alloc:512", env=rank_variables(1), name="rank-1")
    first.kill(); first.wait()
    loader = facts["child"]
    before = snapshot()
    check("clean_rank", "classes: loader, rank 1", ["inherited", "live"], [class_of(before, pid) for pid in (loader, second.pid)])
    call = run("clean-zombies", "--yes", "--json", "--min-age", "0s", "--confirm", "1s", "--audit-log", FOLDER / "audit.jsonl",
               timeout=60)
    done = json.loads(call.stdout)
    check("clean_rank", "status", 0, call.returncode)
    check("clean_rank", "acts: pid, class", [(loader, "inherited")], [(act["pid"], act["class"]) for act in done["acts"]])
    check("clean_rank", "outcome", Condition("ended, nothing left", lambda said: said and all(
        outcome.startswith("ended") and after == 0 for outcome, after in said)),
          [(act["outcome"], act["bytesAfter"]) for act in done["acts"]])
    look = snapshot()
    check("clean_rank", "rank 1 runs", None, second.poll())
    check("clean_rank", "rank 1: class, bytes", ("live", device_bytes(before, second.pid)),
          (class_of(look, second.pid), device_bytes(look, second.pid)))
    check("clean_rank", "used on GPU 0", Condition("at most 8 MiB", lambda said: said <= 8 * MIB),
          by_index(look["gpus"])[0]["memoryUsedBytes"])
    check("clean_rank", "ghosts", [], look["ghosts"])
