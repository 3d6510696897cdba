"""What CUDA makes of values of CUDA_VISIBLE_DEVICES on two GPUs, against what gpuctl expects of it."""
import concurrent.futures, json, os, subprocess

from expectations import check, clip, keep
from harness import HERE, cuda_job, environment, gpuctl_path, snapshot

LONGEST = 2624
AT_A_TIME = 8
# All of them are kept in results.json.
MOST_SHOWN = 20


def values(a, b):
    """(value, CUDA_DEVICE_ORDER) for a machine whose GPUs have the UUIDs `a` and `b`; None is a variable that is not set."""
    digits = b.replace("-", "")[3:]
    numbers = [
        None, "", "0", "1", "0,1", "1,0", " 1", "\t1", "\n1", "\v1", "+1", "-0", "01", "00000000001", "1x", "0x1", "1.0", "1e0",
        "1\u00a0", "\u00a01", "\u0661", "0-1", "0:1", "0;1", "0 1", "0\n1", "1 ,0", "1, 0", "0 x,1", "0 1,1", "1abc,0", "0x,1x",
        "4294967295", "4294967296", "4294967297", "8589934593", "-4294967295", "2147483648", "9223372036854775807",
        "9223372036854775809", "18446744073709551615", "18446744073709551617", "99999999999999999999",
        "-18446744073709551615", "-1", "-2", "0,-1,1", "-1,0", "NoDevFiles", "0,NoDevFiles", "NoDevFilesX", "2", "7,0", "0,7,1",
        "0,1,7", "0,", "0,,1", ",0", " ", " ,1", "x1", "all", "none", "void", '"0"', "'0'", "--1", "- 1", "[0]", "0,x,0",
        "1,1", "1,01", "0,-0", "0,4294967296", "0,1,0", "0,0,7", "0x,0", "0,7,0", "7,0,0", "0,-1,0",
    ]
    uuids = [
        a, b, f"{b},{a}", b[:8], b[:12], b[:5], b[:13], f"GPU-{b[4:].upper()}", f"GPU-{digits}", f"GPU--{b[4:]}", f"{b}x",
        f"{b} ", f"{b} {a}", f"{b}\n,{a}", f"MIG-{b[4:]}", f"MIG-{b[4:8]},{a}", f"{b},", f"{b},,{a}", f"{b},-1,{a}",
        f"{b},NoDevFiles,{a}", f"{b},GPU-zzzz,{a}", "GPU-", "GPU----", "MIG-", "GPU", f"GPU-{b}", f"MIG-{b}", f"MIG-{b}/1/0",
        f"{b[:8]}x", f"{b[:8]} ,{a}", b.lower(), f" {b}", f"{b}, {a}", f"{a},{a}", f"{b[:12]},{b}", f"MIG-{b[4:8]},{b}",
        f"{a},7,{a}", f"{a},1", f"0,{b}", f"1,{b[:8]}", *(f"GPU-{digit}" for digit in "0123456789abcdef"),
        f"GPU-{shared_digits(a, b)}",
    ]
    lengths = [f"1{'x' * (LONGEST - 1)}", f"1{'x' * LONGEST}", f"1{'é' * ((LONGEST - 2) // 2)}", f"1{'é' * (LONGEST // 2)}",
               "0" * 100_000 + "1"]
    orders = ["PCI_BUS_ID", "FASTEST_FIRST", "", "pci_bus_id", "PCI_BUS_ID ", "PCI", "0"]
    return [*((value, None) for value in [*numbers, *uuids, *lengths]),
            *((value, order) for order in orders for value in (None, "1", "1,0"))]


def shared_digits(a, b):
    """The digits that both UUIDs begin with: the longest that names neither."""
    return os.path.commonprefix([a[4:].lower(), b[4:].lower()])


def predict(gpus, tries):
    """What gpuctl expects: its own parser, run by the runtime inside it."""
    asked = {"gpus": [{key: gpu[key] for key in ("index", "uuid", "name")} for gpu in gpus],
             "tries": [{"value": value, "order": order} for value, order in tries]}
    done = subprocess.run([gpuctl_path(), "run", str(HERE / "predict_visible.ts")], input=json.dumps(asked), text=True,
                          capture_output=True, timeout=30, env=environment({"BUN_BE_BUN": "1"}))
    if done.returncode != 0:
        raise RuntimeError(f"the prediction failed: {done.stderr[-300:]}")
    return json.loads(done.stdout)


def ask_cuda(value, order):
    """What CUDA does: the status of cuInit and the UUIDs in CUDA's order."""
    done = subprocess.run(cuda_job("look", "print"), text=True, capture_output=True, timeout=20,
                          env=environment({"CUDA_VISIBLE_DEVICES": value, "CUDA_DEVICE_ORDER": order}))
    if done.returncode != 0:
        return {"init": None, "devices": None, "error": done.stderr[-300:]}
    facts = json.loads(done.stdout)
    return {"init": facts["init"], "devices": facts["devices"]}


def compare(tries, predicted, said):
    """One record for each value; `good` where CUDA gave the same GPUs in the same order, and the same status."""
    return [
        {"value": value, "order": order, "predicted": expected, "said": answer,
         "good": all(answer[key] == expected[key] for key in ("init", "devices"))}
        for (value, order), expected, answer in zip(tries, predicted, said, strict=True)
    ]


def visible_devices():
    gpus = sorted(snapshot()["gpus"], key=lambda gpu: gpu["index"])
    tries = values(*(gpu["uuid"] for gpu in gpus[:2]))
    predicted = predict(gpus, tries)
    pool = concurrent.futures.ThreadPoolExecutor(AT_A_TIME)
    try:
        said = list(pool.map(lambda each: ask_cuda(*each), tries))
    finally:
        pool.shutdown(cancel_futures=True)
    records = compare(tries, predicted, said)
    keep("visible devices", records)
    names = {gpu["uuid"]: str(gpu["index"]) for gpu in gpus}
    for record in [each for each in records if not each["good"]][:MOST_SHOWN]:
        check("visible_devices", title(record), outcome(record["predicted"], names), outcome(record["said"], names))
    check("visible_devices", "values that CUDA takes as gpuctl expects", len(records), sum(each["good"] for each in records))


def title(record):
    order = "" if record["order"] is None else f" in order {record['order']!r}"
    return clip("not set" if record["value"] is None else repr(record["value"]), 30) + order


def outcome(answer, names):
    if answer["devices"] is None:
        return f"no answer: {answer['error']}"
    shown = ", ".join(names.get(uuid, uuid) for uuid in answer["devices"]) or "none"
    return f"GPU {shown}; cuInit {answer['init']}"
