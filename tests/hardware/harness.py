"""What the runs on real GPUs share: starting gpuctl and jobs, looking, and leaving nothing behind."""
import atexit, contextlib, json, os, pathlib, shutil, signal, subprocess, sys, tempfile, textwrap, time, uuid

from expectations import MIB

FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="gpuctl-hardware-"))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
HERE = pathlib.Path(__file__).resolve().parent
# Children inherit it whatever they do with groups, sessions and parents, so they can be found by it at the end.
MARK = ("HARDWARE_RUN", str(uuid.uuid4()))
# An idle H200 shows 0, and 3 MiB for each process that merely sees it.
IDLE_BYTES = 4 * MIB
LOOK_SECONDS = 15

_gpuctl = "dist/gpuctl"
_started, _calls = [], []


def configure(gpuctl):
    global _gpuctl
    _gpuctl = os.path.abspath(gpuctl)


def gpuctl_path():
    return _gpuctl


def environment(changes=None):
    """Ours without what would decide the answers, marked, with these changes; None takes a variable out."""
    whole = {**os.environ, MARK[0]: MARK[1]}
    for name in ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "GPUCTL_SOURCE"):
        whole.pop(name, None)
    for name, value in (changes or {}).items():
        if value is None:
            whole.pop(name, None)
        else:
            whole[name] = value
    return whole


def start(command, env=None, **keywords):
    """Starts a program that ends with the scene. A process group of its own would tell its children too easily."""
    keywords = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **keywords}
    process = subprocess.Popen(command, env=environment(env), **keywords)
    _started.append(process)
    return process


def script(name, code):
    """Writes a Python program to a file, so that multiprocessing can start it again."""
    path = FOLDER / f"{name}.py"
    path.write_text(textwrap.dedent(code))
    return str(path)


def cuda_job(*steps):
    """The command of a job that does these steps of cuda_job.py."""
    return [sys.executable, str(HERE / "cuda_job.py"), *steps]


def hold(*steps, env=None, name="holder"):
    """Starts a job that does these steps and then waits to be ended. Gives it with what it says of itself."""
    path = FOLDER / f"{name}-{time.monotonic_ns()}"
    process = start(cuda_job(*steps, f"ready:{path}", "sleep:90"), env, stderr=subprocess.PIPE)
    wait_for(f"{name} is ready", path.exists, process)
    return process, json.loads(path.read_text())


def job(name, code, **keywords):
    """Starts a Python program and gives its first line."""
    process = start([sys.executable, script(name, code)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                    **keywords)
    return process, process.stdout.readline().strip()


class Call:
    """One run of gpuctl. Its output goes to files: what a job leaves behind would keep a pipe open."""

    def __init__(self, *words, env=None):
        self.words = [str(word) for word in words]
        paths = [FOLDER / f"call-{len(_calls)}.{name}" for name in ("stdout", "stderr")]
        self.record = {"words": self.words, "env": env, "status": None}
        _calls.append(self.record)
        with open(paths[0], "w") as out, open(paths[1], "w") as err:
            self.process = start([_gpuctl, *self.words], env, stdout=out, stderr=err)
        self.paths, self.since = paths, time.monotonic()

    def finish(self, timeout=120):
        try:
            self.returncode = self.process.wait(timeout)
        finally:
            self.stdout, self.stderr = (path.read_text(errors="replace") for path in self.paths)
            self.record.update(status=self.process.poll(), seconds=round(time.monotonic() - self.since, 3),
                               stdout=self.stdout, stderr=self.stderr)
        return self


def run(*words, env=None, timeout=120):
    return Call(*words, env=env).finish(timeout)


def report_path():
    """A place for the report of the next call."""
    return FOLDER / f"call-{len(_calls)}.json"


def read_report(path):
    """The report of a call, also for later reading; an empty one where none was written."""
    report = json.loads(path.read_text()) if path.exists() else {}
    _calls[-1]["report"] = report
    return report


def snapshot(*words):
    return json.loads(run("snapshot", "--json", *words, timeout=LOOK_SECONDS).stdout)


def holder(look, pid):
    return next((each for each in look["holders"] if each["pid"] == pid), None)


def class_of(look, pid):
    found = holder(look, pid)
    return found["class"] if found else None


def used(look):
    return sum(gpu["memoryUsedBytes"] or 0 for gpu in look["gpus"])


def wait_idle(limit=20):
    """Waits until nothing is in use; says whether it came to that. These looks are not kept."""
    end = time.monotonic() + limit
    while True:
        look = snapshot()
        _calls.pop()
        if all((gpu["memoryUsedBytes"] or 0) <= IDLE_BYTES for gpu in look["gpus"]):
            return True
        if time.monotonic() > end:
            return False
        time.sleep(0.1)


def wait_for(what, is_so, process, limit=30):
    """Waits for what a process is to bring about, as long as that runs."""
    end = time.monotonic() + limit
    while not is_so():
        if process.poll() is not None and not is_so():
            said = process.stderr.read()[-300:].decode(errors="replace") if process.stderr else ""
            raise RuntimeError(f"status {process.returncode} before {what}: {said}")
        if time.monotonic() > end:
            raise TimeoutError(f"waited {limit} s for {what}")
        time.sleep(0.02)


def kill(*pids):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def marked():
    """Processes that this run has started and that still run, wherever they have gone."""
    return [int(name) for name in os.listdir("/proc") if name.isdecimal() and carries_mark(name)]


def carries_mark(pid):
    try:
        with open(f"/proc/{pid}/environ", "rb") as environ:
            return "=".join(MARK).encode() in environ.read().split(b"\0")
    except OSError:
        return False


def end_everything(limit=30):
    """Ends all that this run has started, and gives the pids that would not go. Only what carries our mark is signalled."""
    end = time.monotonic() + limit
    while True:
        left = marked()
        for pid in left:
            with contextlib.suppress(OSError):
                end_marked(pid)
        waiting = [process for process in _started if process.poll() is None]
        if not left and not waiting:
            _started.clear()
            return []
        if time.monotonic() > end:
            return sorted({*left, *(process.pid for process in waiting)})
        time.sleep(0.05)


def end_marked(pid):
    handle = os.pidfd_open(pid)
    try:
        if carries_mark(pid):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
    finally:
        os.close(handle)


def write_calls(folder):
    """Writes every run of gpuctl with its output, one JSON object a line."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "commands.jsonl").write_text("".join(json.dumps(call) + "\n" for call in _calls))
