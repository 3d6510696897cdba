"""Scenes of `verify-isolation` on two GPUs: what a job saw, had and touched, and the reason for what went wrong."""
import os, re, sys

from expectations import MIB, Condition, agrees, between, check, keep, matching
from harness import HERE, cuda_job, hold, holder, job, read_report, report_path, run, script, snapshot
from scene_runner import need

# Long enough for some twenty looks.
WORK = "sleep:0.8"
RANKS = [sys.executable, str(HERE / "ranks.py")]
# No scene needs NVLink's multicast, and a driver that is in trouble with it takes the whole server down.
WITHOUT_MULTICAST = {"NCCL_NVLS_ENABLE": "0", "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1", "NVSHMEM_DISABLE_NVLS": "1"}
ISOLATED = (0, "isolated", [])


def violated(*causes):
    return (10, "violated", list(causes))


def verify(gpus, command, *options, env=None):
    """Runs a command under verify-isolation. Gives the call and its report."""
    path = report_path()
    call = run("verify-isolation", "--gpu", gpus, "--json", "-o", path, *options, "--", *command, env=env, timeout=60)
    return call, read_report(path)


def answer(call, report):
    """What a script looks at: status, verdict, and which causes on which GPU. A job that used no GPU proves nothing."""
    causes = sorted((each["index"], each["cause"]) for each in report.get("violations", []))
    verdict = report.get("verdict", call.stderr[-200:])
    if verdict == "isolated" and any("not put to the test" in note for note in report.get("notes", [])):
        verdict = "isolated, untested"
    return (call.returncode, verdict, causes)


def told(report):
    """All sentences of a report."""
    violations = report.get("violations", [])
    return " | ".join([*report.get("notes", []), *(each[key] for each in violations for key in ("explanation", "fix")),
                       *(each["message"] for each in report.get("problems", []))])


def seen(path):
    """Descriptors and mappings of each `/dev/nvidiaN` that a process has, as /proc shows them."""
    descriptors, maps = {}, {}
    for name in os.listdir(f"/proc/{path}/fd"):
        try:
            target = os.readlink(f"/proc/{path}/fd/{name}")
        except OSError:
            continue
        if re.fullmatch(r"/dev/nvidia\d+", target):
            descriptors[target] = descriptors.get(target, 0) + 1
    with open(f"/proc/{path}/maps") as file:
        for target in re.findall(r"/dev/nvidia\d+$", file.read(), re.MULTILINE):
            maps[target] = maps.get(target, 0) + 1
    return {"descriptors": descriptors, "maps": maps}


def isolation_variables():
    """The variable in each of its forms, with a job that takes a context on its device 0."""
    zero, one = (gpu["uuid"] for gpu in sorted(snapshot()["gpus"], key=lambda gpu: gpu["index"])[:2])
    tries = [
        ("0", "0", ISOLATED),
        ("1", "1", ISOLATED),
        (one, "1", ISOLATED),
        (one[:12], "1", ISOLATED),
        ("0", "1", violated((0, "variable-names-it"))),
        ("0,7,1", "1", violated((0, "list-cut-short"))),
        (None, "1", violated((0, "variable-missing"))),
    ]
    for value, gpus, expected in tries:
        call, report = verify(gpus, cuda_job("context:0", WORK), env={"CUDA_VISIBLE_DEVICES": value})
        shown = "unset" if value is None else "UUID" if value == one else "UUID's beginning" if value == one[:12] else repr(value)
        check("isolation_variables", f"{shown}, --gpu {gpus}", expected, answer(call, report))
    call, report = verify("1", cuda_job("context:0", "print", WORK), "--pin", env={"CUDA_VISIBLE_DEVICES": "0"})
    check("isolation_variables", "--gpu 1 --pin", ISOLATED, answer(call, report))
    check("isolation_variables", "what --pin set", Condition("the UUID of GPU 1", lambda said: f'"variable": "{one}"' in said),
          call.stdout)
    call, report = verify("0", cuda_job("context:0", WORK), env={"CUDA_VISIBLE_DEVICES": None})
    check("isolation_variables", "unset, --gpu 0", ISOLATED, answer(call, report))
    check("isolation_variables", "unset, --gpu 0: the note", matching(r"GPU 1 is visible to 1 process .* without a context"),
          told(report))
    check("isolation_variables", "unset, --gpu 0: growth of GPU 1", between(1, 8), growth(report, 1))
    keep("used by visibility alone", growth(report, 1))


def growth(report, index):
    return next((gpu["growthBytes"] for gpu in report.get("gpus", []) if gpu["index"] == index), None)


def isolation_none():
    """A job that must not touch any GPU."""
    call, report = verify("none", cuda_job("look", WORK), env={"CUDA_VISIBLE_DEVICES": ""})
    check("isolation_none", "variable empty", ISOLATED, answer(call, report))
    check("isolation_none", "variable empty: nothing is visible", Condition("no such note", lambda said: "visible to" not in said),
          told(report))
    call, report = verify("none", cuda_job("look", WORK))
    check("isolation_none", "unset, and only looked", ISOLATED, answer(call, report))
    check("isolation_none", "unset, and only looked: the note", matching(r"GPU 0-1 are visible to 1 process"), told(report))
    call, report = verify("none", cuda_job("context:0", WORK))
    check("isolation_none", "unset, with a context", violated((0, "variable-missing")), answer(call, report))


opened_or_absent = Condition("open or not", lambda said: said in (True, False, None))
unmapped_or_absent = Condition("not mapped", lambda said: said in (False, None))
nothing_or_absent = Condition("0 or none", lambda said: said in (0, None))


def isolation_grades():
    """Hidden, visible, context: told apart by mappings and rows. A hidden GPU is open where NVML is used as well."""
    holders = {
        "hidden": hold("context:0", env={"CUDA_VISIBLE_DEVICES": "0"})[0].pid,
        "visible": hold("context:0")[0].pid,
        "context": hold("context:0", "context:1")[0].pid,
    }
    look = snapshot()
    uuid = next(gpu["uuid"] for gpu in look["gpus"] if gpu["index"] == 1)
    node = next(f"/dev/nvidia{gpu['minor']}" for gpu in look["gpus"] if gpu["index"] == 1)
    proc = {grade: seen(pid) for grade, pid in holders.items()}
    keep("grades in /proc", proc)
    on_proc = {grade: (each["descriptors"].get(node, 0) > 0, each["maps"].get(node, 0) > 0) for grade, each in proc.items()}
    check("isolation_grades", "/proc: mapped", {"hidden": False, "visible": True, "context": True},
          {grade: mapped for grade, (_, mapped) in on_proc.items()})
    for grade, expected in (("hidden", (opened_or_absent, unmapped_or_absent, nothing_or_absent)), ("visible", (True, True, 0)), ("context", (True, True, between(400, 700)))):
        device = next((each for each in (holder(look, holders[grade]) or {"devices": []})["devices"] if each["gpu"] == uuid), {})
        said = (device.get("open"), device.get("mapped"), device.get("contextBytes"))
        check("isolation_grades", f"snapshot: {grade}: open, mapped, bytes",
              Condition(str(tuple(str(each) for each in expected)),
                        lambda said: all(agrees(*pair) for pair in zip(expected, said, strict=True))), said)
    for grade, verdict, note in (("hidden", ISOLATED, r"^(?!.*visible to)"), ("visible", ISOLATED, r"GPU 1 is visible to"),
                                 ("context", violated((1, "variable-missing")), r"CUDA_VISIBLE_DEVICES")):
        path = report_path()
        call = run("verify-isolation", "--gpu", "0", "--pid", holders[grade], "--json", "-o", path)
        report = read_report(path)
        check("isolation_grades", f"--pid: {grade}", verdict, answer(call, report))
        check("isolation_grades", f"--pid: {grade}: what it says", matching(note), told(report))


def isolation_monitor():
    """Who only reads NVML has every GPU open and none mapped."""
    need("pynvml")
    process, _ = job("monitor", """
        import pynvml, time
        pynvml.nvmlInit()
        handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
        print("up", flush=True); time.sleep(60)
    """)
    path = report_path()
    call = run("verify-isolation", "--gpu", "none", "--pid", process.pid, "--json", "-o", path)
    report = read_report(path)
    check("isolation_monitor", "--gpu none --pid", ISOLATED, answer(call, report))
    check("isolation_monitor", "the note", matching(r"GPU 0-1 were opened and not used"), told(report))


def isolation_late():
    """The variable set by the program itself: after CUDA has started it has no effect, before that it has."""
    need("torch")
    body = """
        import torch, os, time
        {first}
        os.environ["CUDA_VISIBLE_DEVICES"] = "1"
        x = torch.empty(1 << 28, dtype=torch.uint8, device="cuda"); torch.cuda.synchronize(); time.sleep(0.8)
    """
    late = script("late", body.format(first="torch.cuda.init()"))
    call, report = verify("1", [sys.executable, late], "--lint", late)
    check("isolation_late", "set after torch.cuda.init(), --lint", violated((0, "set-too-late")), answer(call, report))
    in_time = script("in_time", body.format(first="torch.zeros(1)"))
    call, report = verify("1", [sys.executable, in_time])
    check("isolation_late", "set after import, before CUDA", ISOLATED, answer(call, report))


def isolation_stray():
    """Rank 1 once touches the default device: a second context, on GPU 0."""
    call, report = verify("1", cuda_job("context:0", "context:1", "alloc:512", WORK), env={"LOCAL_RANK": "1"})
    check("isolation_stray", "rank 1 alone, --gpu 1", violated((0, "default-device")), answer(call, report))
    call, report = verify("1", cuda_job("context:1", WORK), env={"LOCAL_RANK": "1"})
    check("isolation_stray", "rank 1 that chose its device first", ISOLATED, answer(call, report))
    need("torch")
    path = script("stray", """
        import os, time, torch
        rank = int(os.environ["LOCAL_RANK"])
        torch.zeros(1, device="cuda")
        torch.cuda.set_device(rank)
        x = torch.empty(1 << 28, dtype=torch.uint8, device="cuda"); torch.cuda.synchronize(); time.sleep(1.5)
    """)
    call, report = verify("0,1", [*RANKS, sys.executable, path])
    check("isolation_stray", "two ranks of torch, --gpu 0,1", violated((0, "default-device")), answer(call, report))
    sizes = [each["contextBytes"] for each in report.get("violations", [])]
    check("isolation_stray", "the context of rank 1 on GPU 0", between(500, 750), sizes[0] if len(sizes) == 1 else None)


def isolation_jax():
    """JAX takes a context on every GPU that it sees, wherever its arrays are."""
    need("jax")
    path = script("jax_job", """
        import os; os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
        import jax, time
        x = jax.numpy.ones(1000); x.block_until_ready(); time.sleep(1)
    """)
    call, report = verify("0", [sys.executable, path])
    check("isolation_jax", "unset, --gpu 0", violated((1, "variable-missing")), answer(call, report))
    check("isolation_jax", "its habit is explained", matching(r"JAX"), told(report))
    call, report = verify("0", [sys.executable, path], "--pin")
    check("isolation_jax", "--gpu 0 --pin", ISOLATED, answer(call, report))


def isolation_nccl():
    """Two ranks that exchange data each stay on their own GPU."""
    need("torch")
    path = script("nccl", """
        import os, time, torch, torch.distributed as dist
        rank = int(os.environ["LOCAL_RANK"])
        torch.cuda.set_device(rank)
        dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
        x = torch.ones(1 << 20, device="cuda"); dist.all_reduce(x); torch.cuda.synchronize()
        assert x[0].item() == 2
        time.sleep(1); dist.destroy_process_group()
    """)
    call, report = verify("0,1", [*RANKS, sys.executable, path], env=WITHOUT_MULTICAST)
    check("isolation_nccl", "two ranks, --gpu 0,1", ISOLATED, answer(call, report))
    sizes = [growth(report, index) for index in (0, 1)]
    check("isolation_nccl", "both GPUs were used",
          Condition("more than 1000 MiB each", lambda said: all(each > 1000 * MIB for each in said)), sizes)
