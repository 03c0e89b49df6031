"""The commit that inputs are in, and those of them that are in none."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from cpuplan.base.files import Unreadable, read_regular
from cpuplan.base.progress import stage
from cpuplan.diagnostics import CpuplanError, Diagnostic, diagnose
from cpuplan.diagnostics.source import Position
from cpuplan.git import trees
from cpuplan.git.door import opened
from cpuplan.git.objects import name_of
from cpuplan.git.repository import Repository
from cpuplan.git.trees import EXECUTABLE, FILE, LINK, Entry
from cpuplan.language.read.files import FOLDERS, POD_FOLDER
from cpuplan.language.read.inputs import LOCK_PATH, Inputs

_FOLDERS = (*FOLDERS, POD_FOLDER)
_ENDINGS = (".yaml", ".yml")
_CHANGED = "changed and not committed"
_ABSENT = "not committed"


class Source(NamedTuple):
    """Where inputs come from: the commit, empty for none, and why it is not all of them."""

    commit: str
    dirty: tuple[Diagnostic, ...]


@stage("asking Git for changes")
def of(inputs: Inputs) -> Source:
    """The source of inputs. CP692 for each that is in no commit."""
    root = inputs.root
    try:
        with opened(root) as repository:
            commit = trees.find_commit(repository, "HEAD")
            if commit is None:
                state = "in a repository without commits"
                return Source("", (diagnose("CP692", path=root, state=state),))
            return Source(commit, tuple(_dirty(repository, commit, inputs)))
    except CpuplanError as error:
        state = f"in no repository ({error.diagnostics[0].message})"
        return Source("", (diagnose("CP692", path=root, state=state),))


def _dirty(repository: Repository, commit: str, inputs: Inputs) -> Iterator[Diagnostic]:
    """CP692 for inputs that are not as in the commit: their bytes are compared, by no filter."""
    texts = dict(inputs.texts)
    if inputs.lock is not None:
        texts[LOCK_PATH] = inputs.lock
    places = {path: _place(repository, inputs.root, path) for path in texts}
    known = _entries(repository, commit, places.values())
    states = {}
    for path, data in texts.items():
        entry = known.get(places[path])
        if entry is None or entry.mode not in (FILE, EXECUTABLE):
            states[path] = _ABSENT
        elif entry.object not in _names(repository, data):
            states[path] = _CHANGED
    for place, entry in known.items():
        path = place.removeprefix(repository.prefix)
        is_document = path.startswith(tuple(f"{name}/" for name in _FOLDERS))
        is_read = path in texts or not (is_document and path.endswith(_ENDINGS))
        if not is_read and not _is_as_committed(repository, inputs.root / path, entry):
            states[path] = _CHANGED
    for path, state in sorted(states.items()):
        yield diagnose("CP692", Position(path, 0, 0), path=path, state=state)


def _place(repository: Repository, root: Path, path: str) -> str:
    """The path in the commit of what is read: where a link leads, not where it lies."""
    real = os.path.realpath(root / path)
    return os.path.relpath(real, repository.top)


def _entries(repository: Repository, commit: str, places: Iterable[str]) -> dict[str, Entry]:
    """What the commit has in the folders of documents, and of other inputs, by its paths."""
    folders = {f"{repository.prefix}{name}" for name in _FOLDERS}
    for place in places:
        if not place.startswith((*(f"{folder}/" for folder in folders), "../")):
            folders.add(str(PurePosixPath(place).parent).removeprefix("."))
    known: dict[str, Entry] = {}
    for folder in sorted(folders):
        start = f"{folder}/" if folder else ""
        entries = trees.entries_of(repository, commit, folder)
        known |= {f"{start}{path}": entry for path, entry in entries.items()}
    return known


def _names(repository: Repository, data: bytes) -> tuple[str, str]:
    """The names of a content in Git, also of one whose line ends a checkout changed."""
    return name_of(repository, data), name_of(repository, data.replace(b"\r\n", b"\n"))


def _is_as_committed(repository: Repository, path: Path, entry: Entry) -> bool:
    """Whether a file that is no input is as in the commit; one that is gone is not."""
    try:
        if entry.mode == LINK:
            return name_of(repository, os.fsencode(os.readlink(path))) == entry.object
        if entry.mode not in (FILE, EXECUTABLE):
            return True
        return entry.object in _names(repository, read_regular(path, within=repository.top))
    except (OSError, Unreadable):
        return False
