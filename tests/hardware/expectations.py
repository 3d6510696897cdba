"""What was expected beside what was said: conditions, the rows of the table, and the count."""
import dataclasses, json, re

MIB = 1 << 20

results, kept = [], {}


@dataclasses.dataclass(frozen=True)
class Condition:
    """An expectation that is no plain value: what a person reads, and how it is told."""
    text: str
    holds: object

    def __str__(self):
        return self.text


def between(low, high):
    """So many bytes, given in MiB."""
    return Condition(f"{low} to {high} MiB", lambda said: said is not None and low * MIB <= said <= high * MIB)


def matching(pattern):
    return Condition(f"/{pattern}/", lambda said: re.search(pattern, said) is not None)


def agrees(expected, said):
    """Whether what was said is what was expected. A condition that cannot be put to it does not hold."""
    if not isinstance(expected, Condition):
        return expected == said
    try:
        return bool(expected.holds(said))
    except (TypeError, ValueError, KeyError, IndexError, AttributeError):
        return False


def check(scene, what, expected, said):
    """Compares, prints one row of the table, and counts."""
    good = agrees(expected, said)
    results.append({"scene": scene, "what": what, "expected": str(expected), "said": said, "good": good})
    print(row("ok" if good else "FAIL", scene, what, expected, said), flush=True)


def row(mark, scene, what, expected, said):
    return f"{mark:<5}{clip(scene, 20):<21}{clip(what, 42):<43}{clip(expected, 44):<45}{clip(said, 90)}".rstrip()


def clip(value, width):
    """One line of printable text, cut in the middle where it is too long for its column."""
    text = "".join(each if each.isprintable() else "·" for each in str(value))
    if len(text) <= width:
        return text
    tail = (width - 1) // 2
    return f"{text[:width - 1 - tail]}…{text[len(text) - tail:]}"


def keep(name, value):
    """Keeps something for later reading; it goes to results.json."""
    kept[name] = value


def summary():
    """The last line, and the exit status that goes with it."""
    failed = sum(not each["good"] for each in results)
    return f"{len(results) - failed} passed, {failed} failed", 0 if results and failed == 0 else 1


def write_results(folder):
    """Writes the table, and all that was kept for later reading."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(json.dumps({"results": results, "kept": kept}, indent=1, default=str) + "\n")
    rows = [row("ok" if each["good"] else "FAIL", *(each[key] for key in ("scene", "what", "expected", "said")))
            for each in results]
    (folder / "table.txt").write_text("\n".join(rows) + "\n")
