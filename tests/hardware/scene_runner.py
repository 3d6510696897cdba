"""Runs scenes one after the other, each within its time, and clears up after each."""
import importlib.util, signal, time

from expectations import check, summary
from harness import end_everything, wait_idle


class OutOfTime(Exception):
    """A scene ran into its limit."""


class Unavailable(Exception):
    """This machine lacks what a scene needs. The scene is named as not run."""


def run_scenes(scenes, only=(), total=None):
    """
    Runs (scene, seconds) pairs. Each has its limit and none stops another; `total` limits them together. Says what was
    not run, and gives the exit status.
    """
    began, not_run = time.monotonic(), []
    signal.signal(signal.SIGALRM, _ring)
    for scene, seconds in scenes:
        name = scene.__name__
        if only and name not in only:
            not_run.append(name)
            continue
        left = seconds if total is None else min(seconds, total - (time.monotonic() - began))
        if left < 1:
            check(name, "is run", "in time", f"{total} s were over")
            continue
        since = time.monotonic()
        try:
            _run_within(left, scene)
        except Unavailable as lack:
            not_run.append(f"{name} ({lack})")
        except OutOfTime:
            check(name, "ends", f"within {left:.0f} s", "it did not")
        except Exception as error:
            check(name, "ends", "without an error", f"{type(error).__name__}: {error}")
        _clear(name)
        print(f"     {name}: {time.monotonic() - since:.1f} s", flush=True)
    if not_run:
        print("not run:", ", ".join(not_run))
    line, status = summary()
    print(line, flush=True)
    return status


def _run_within(seconds, scene):
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        scene()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def need(module):
    """Leaves the scene where the Python that runs it has no such module."""
    if importlib.util.find_spec(module) is None:
        raise Unavailable(f"no {module}")


def _clear(name):
    """The next scene needs idle GPUs, whatever became of this one."""
    left = end_everything()
    if left:
        check(name, "processes that could not be ended", [], left)
    try:
        is_idle = wait_idle()
    except Exception as error:
        is_idle = f"{type(error).__name__}: {error}"
    if is_idle is not True:
        check(name, "GPUs idle afterwards", True, is_idle)


def _ring(_signal, _frame):
    raise OutOfTime()
