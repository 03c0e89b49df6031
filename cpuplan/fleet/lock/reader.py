"""The lock file to layouts, also in the middle of a merge."""

import re
from collections.abc import Iterator

from cpuplan import API_VERSION
from cpuplan.base import apiversion
from cpuplan.base.cpuset import CpuSet, CpuSetError
from cpuplan.diagnostics import Diagnostic, Label, diagnose
from cpuplan.diagnostics.source import Data, Position, Source
from cpuplan.fleet.before import Key
from cpuplan.fleet.lock import unproven
from cpuplan.fleet.lock.entry import Lock, Locked
from cpuplan.fleet.lock.form import END
from cpuplan.language.model.pools import DIVIDED, POOLS, QOS_SETS
from cpuplan.language.read import yaml

_WANTED = (("cluster", str), ("class", str), ("solvedFrom", str | int), ("pools", dict))
_PARTITIONS = tuple(f"{host}." for host in DIVIDED)
_OPTIONAL = (("pool", str), ("solver", str), ("gone", bool))
#: The finding on a lock with both sides of a merge, where the merge is not resolved.
UNSETTLED = "CP248"
_RESTORE = "restore the file from Git, then compile"
_MARKED = re.compile(r"^<{7} ", re.MULTILINE)
_MARKER = re.compile(r"(<{7}|\|{7}|={7}|>{7})( .*)?")


def read(data: bytes | None, shown: str) -> tuple[Lock, list[Diagnostic]]:
    """The layouts of the lock file's bytes, or of no file. An empty file is an error (CP243)."""
    if data is None:
        return {}, []
    if not data.strip():
        return {}, [diagnose("CP243", Position(shown, 1, 1), path=shown)]
    try:
        return parse(data.decode(), shown)
    except UnicodeDecodeError:
        return {}, [diagnose("CP241", Position(shown, 1, 1), problem="is not UTF-8")]


def parse(text: str, shown: str) -> tuple[Lock, list[Diagnostic]]:
    """The layouts of a lock's text.

    Of a class that both sides of a merge changed, the first layout has the `others`.
    """
    by_class: dict[Key, list[Locked]] = {}
    diagnostics: list[Diagnostic] = []
    for side in _sides(text):
        sources, problems = yaml.parse(shown, _in_one(side))
        problems = [problem._replace(remedy=_RESTORE) for problem in problems]
        diagnostics += [problem for problem in problems if problem not in diagnostics]
        for source in sources:
            for key, entry in _entries(source, diagnostics):
                entries = by_class.setdefault(key, [])
                if all(entry.content != other.content for other in entries):
                    entries.append(entry)
        if not diagnostics and _is_new(side) and side.rstrip().rpartition("\n")[2] != END:
            line = side.rstrip().count("\n") + 1
            problem = f"is cut short: its last line, `{END}`, is missing"
            diagnostics.append(diagnose("CP241", Position(shown, line, 1), problem=problem))
    lock = {key: first._replace(others=tuple(others)) for key, (first, *others) in by_class.items()}
    return lock, [*diagnostics, *_unsettled(text, shown, lock)]


def _unsettled(text: str, shown: str, lock: Lock) -> Iterator[Diagnostic]:
    """CP248: conflicts that only `compile` resolves."""
    marked = _MARKED.search(text)
    if marked:
        line = text.count("\n", 0, marked.start()) + 1
        yield diagnose(UNSETTLED, Position(shown, line, 1), what="Git's conflict markers")
        return
    for (cluster, name), entry in lock.items():
        if entry.others:
            labels = [Label(other.position, "the other one") for other in entry.others]
            what = f"two layouts of class {name} of cluster {cluster}"
            yield diagnose(UNSETTLED, entry.position, labels=labels, what=what)


def _is_new(text: str) -> bool:
    """Whether a lock is of the form that has an end: entries on one line."""
    return not re.search(r"^- cluster:", text, re.MULTILINE)


def _in_one(text: str) -> str:
    """The text with only its last end mark.

    Git puts the entries of an older form, which has no end mark, behind it.
    """
    lines = text.rstrip().split("\n")
    return "\n".join(["" if line.rstrip() == END else line for line in lines[:-1]] + lines[-1:])


def _sides(text: str) -> list[str]:
    """The text, or both texts of a conflict that Git left in it, with their lines in place."""
    if not _MARKED.search(text):
        return [text]
    ours, theirs = [], []
    side = ""
    for line in text.split("\n"):
        marker = _MARKER.fullmatch(line.rstrip("\r"))
        if marker:
            side = "" if marker[1][0] == ">" else marker[1][0]
            ours.append("")
            theirs.append("")
            continue
        ours.append(line if side in ("", "<") else "")
        theirs.append(line if side in ("", "=") else "")
    return ["\n".join(ours), "\n".join(theirs)]


def _entries(source: Source, diagnostics: list[Diagnostic]) -> Iterator[tuple[Key, Locked]]:
    """The entries of one document; what is wrong with it is added to `diagnostics`."""
    data = source.data
    form = " ".join(
        str(data[key]) for key in ("apiVersion", "kind") if isinstance(data, dict) and key in data
    )
    if form != f"{API_VERSION} Plan":
        place = source.value_at(("apiVersion",)) if form else source.value_at(())
        actual, expected = form or "without apiVersion and kind", f"{API_VERSION} Plan"
        if apiversion.is_later(form.partition(" ")[0]):
            diagnostics.append(
                diagnose("CP139", place, what="the lock", found=actual, expected=expected)
            )
        else:
            diagnostics.append(diagnose("CP242", place, found=actual, expected=expected))
        return
    classes = data.get("classes") if isinstance(data, dict) else None
    if not isinstance(classes, list):
        diagnostics.append(diagnose("CP241", source.value_at(()), problem="has no list `classes`"))
        return
    for index, entry in enumerate(classes):
        problems = list(_problems(source, index, entry))
        diagnostics += problems
        if not problems:
            yield _entry(source, index, entry)


def _problems(source: Source, index: int, entry: Data) -> Iterator[Diagnostic]:
    place = source.value_at(("classes", index))
    if not isinstance(entry, dict) or not all(
        isinstance(entry.get(key), kind) for key, kind in _WANTED
    ):
        yield diagnose("CP241", place, problem="needs cluster, class, solvedFrom and pools")
        return
    for key, kind in _OPTIONAL:
        if key in entry and not isinstance(entry[key], kind):
            problem = f"has {key} {entry[key]!r}, not {'true' if kind is bool else 'text'}"
            yield diagnose("CP241", source.value_at(("classes", index, key)), problem=problem)
    if "unproven" in entry and unproven.from_data(entry["unproven"]) is None:
        place = source.value_at(("classes", index, "unproven"))
        yield diagnose("CP241", place, problem="has an `unproven` that cpuplan did not write")
    written = entry["pools"]
    assert isinstance(written, dict)  # noqa: S101 - tested above
    for name, text in written.items():
        field = ("classes", index, "pools", name)
        if name not in (*POOLS, *QOS_SETS) and not name.startswith(_PARTITIONS):
            hint = ": a list of CPUs needs quotes here" if name[:1].isdigit() else ""
            yield diagnose(
                "CP241", source.key_at(field), problem=f"has {name!r}, which is not a pool{hint}"
            )
            continue
        try:
            _cpus(text)
        except CpuSetError as error:
            yield diagnose(
                "CP241", source.value_at(field), problem=f"has an invalid CPU list: {error}"
            )


def _cpus(text: Data) -> CpuSet:
    return CpuSet.parse("" if text is None else str(text))


def _entry(source: Source, index: int, entry: Data) -> tuple[Key, Locked]:
    """An entry in which nothing is wrong."""
    assert isinstance(entry, dict)  # noqa: S101 - see _problems
    written = entry["pools"]
    assert isinstance(written, dict)  # noqa: S101
    locked = Locked(
        solved_from=str(entry["solvedFrom"]),
        pools={name: _cpus(text) for name, text in written.items()},
        position=source.value_at(("classes", index, "class")),
        places={name: source.value_at(("classes", index, "pools", name)) for name in written},
        pool=str(entry.get("pool", "")),
        solver=str(entry.get("solver", "")),
        gone=entry.get("gone") is True,
        limited=unproven.from_data(entry.get("unproven")),
    )
    return (str(entry["cluster"]), str(entry["class"])), locked


def is_same(data: bytes | None, text: str) -> bool:
    """Whether a lock file has the lines of `text`, in any order: a merge may change the order."""
    return data is not None and _lines_of(data) == _lines_of(text.encode())


def _lines_of(data: bytes) -> set[bytes]:
    return {line.rstrip(b"\r") for line in data.split(b"\n")} - {b""}
