"""The commit that inputs are in, and those of them that are in none."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from cpuplan.diagnostics import CpuplanError, Diagnostic, diagnose
from cpuplan.git import trees
from cpuplan.git.program import run
from cpuplan.progress import stage
from cpuplan.read.files import FOLDERS, POD_FOLDER
from cpuplan.read.inputs import LOCK_PATH, Inputs
from cpuplan.source import Position

_FOLDERS = (*FOLDERS, POD_FOLDER)
_STATES = {"?": "not committed", "!": "ignored by Git, so it is in no commit"}


class Source(NamedTuple):
    """Where inputs come from: the commit, empty for none, and why it is not all of them."""

    commit: str
    dirty: tuple[Diagnostic, ...]


@stage("asking Git for changes")
def of(inputs: Inputs) -> Source:
    """The source of inputs. CP692 for each that is in no commit."""
    root = inputs.root
    try:
        commit = trees.find_commit(root, "HEAD")
    except CpuplanError as error:
        state = f"in no repository ({error.diagnostics[0].message})"
        return Source("", (diagnose("CP692", path=root, state=state),))
    if commit is None:
        return Source("", (diagnose("CP692", path=root, state="in a repository without commits"),))
    return Source(commit, tuple(_dirty(root, frozenset({*inputs.texts, LOCK_PATH}))))


def _dirty(root: Path, read: frozenset[str]) -> Iterator[Diagnostic]:
    elsewhere = [name for name in read if name.partition("/")[0] not in _FOLDERS]
    words = ("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all")
    told = run(
        root,
        "--literal-pathspecs",
        *(*words, "--ignored=matching", "--", *_FOLDERS, *sorted(elsewhere)),
    )
    if told.code:
        yield diagnose("CP692", path=root, state=f"in no commit that Git finds ({told.problem})")
        return
    start = trees.prefix(root)
    for entry in sorted(told.parts, key=lambda entry: entry[3:]):
        path = entry[3:].removeprefix(start)
        tracked = entry[0] not in _STATES
        if (tracked and path.endswith((".yaml", ".yml"))) or _has(read, path):
            state = _STATES.get(entry[0], "changed and not committed")
            yield diagnose("CP692", Position(path.rstrip("/"), 0, 0), path=path, state=state)


def _has(read: frozenset[str], path: str) -> bool:
    """Whether an input is at the path, or below it: an ignored folder, or a submodule."""
    folder = path.rstrip("/") + "/"
    return path in read or any(name.startswith(folder) for name in read)
