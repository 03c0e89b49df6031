"""The project as it is in a commit, and the findings that a change of it brings in."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from cpuplan.base import files
from cpuplan.base.files import cache
from cpuplan.base.progress import stage
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Position
from cpuplan.fleet.previous import CLASSES
from cpuplan.git import trees
from cpuplan.git.repository import Repository
from cpuplan.git.trees import EXECUTABLE, FILE, LINK, Entry
from cpuplan.language.read.files import FOLDERS, OUTPUT, POD_FOLDER

_Place = tuple[str, ...]


def brought_in(now: Iterable[Diagnostic], before: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The findings of `now` that `before` does not have, whatever lines they are in.

    A finding is the same if its code and its field are, or without a field its file and message.
    It is new where it concerns a class that it did not concern, or lost its waiver.
    """
    old = list(before)
    known = Counter(map(_place, old))
    waived = Counter(_place(finding) for finding in old if finding.waiver)
    classes: dict[_Place, set[str]] = {}
    for finding in old:
        classes.setdefault(_place(finding), set()).update(finding.classes)
    new = []
    for finding in now:
        place = _place(finding)
        allowed = known if finding.waiver else known - waived
        concerned = set(finding.classes) - classes.get(place, set())
        if allowed[place] and not (concerned and classes[place]):
            known[place] -= 1
            if finding.waiver and waived[place]:
                waived[place] -= 1
        else:
            new.append(finding)
    return new


def _place(finding: Diagnostic) -> _Place:
    """What stays of a finding when lines move, and numbers in its message change."""
    if finding.field:
        return finding.code, finding.field
    if finding.position is None:
        return finding.code, finding.message
    whole = not finding.position.line
    return (finding.code, finding.position.path, "" if whole else finding.message)


_OURS = "out/.cpuplan"
_CLASSES = f"out/{CLASSES}"
#: In the plan of a class whose files in `out/` are an input: its intent is paused.
_PAUSED = b'"paused"'
_DOCUMENTS = (*FOLDERS, POD_FOLDER)
_FILES = (FILE, EXECUTABLE)
_ENDINGS = (".yaml", ".yml")


@contextmanager
def project_at(repository: Repository, tree: str, shown: str) -> Iterator[Path]:
    """The inputs of a project, and its plans in `out/`, as they are in `tree`.

    Raises CP688 and CP6110.
    """
    with cache.temporary_folder() as held:
        place = held.path / "project"
        place.mkdir()
        with stage("reading the commit"):
            for name in (*_DOCUMENTS, _OURS):
                _write_folder(repository, tree, name, place, shown)
            if any(_PAUSED in path.read_bytes() for path in (place / _CLASSES).glob("*/*.json")):
                _write_folder(repository, tree, "out", place, shown)
        yield place


def check_sizes(repository: Repository, commit: str) -> None:
    """Refuse documents of a commit that are larger than those on disk may be (CP6110)."""
    for name in _DOCUMENTS:
        place = repository.prefix + name
        trees.check_sizes(repository, _entries(repository, commit, name), f"{commit}:{place}")


def repositories_in(repository: Repository, tree: str) -> Iterator[Diagnostic]:
    """CP1110 for repositories that a checkout would have in the project, or as its folder."""
    if files.is_repository(trees.names_of(repository, tree, repository.prefix)):
        path = repository.prefix or "."
        yield diagnose("CP1110", Position(path, 0, 0), path=path)
    for folder in (*_DOCUMENTS, OUTPUT):
        entries = trees.entries_of(repository, tree, repository.prefix + folder)
        for path in files.repositories_among(f"{folder}/{path}" for path in entries):
            yield diagnose("CP1110", Position(path, 0, 0), path=path)


def _entries(repository: Repository, tree: str, name: str) -> dict[str, Entry]:
    """What is read of a folder of the project: documents, and links, which may lead to some."""
    entries = trees.entries_of(repository, tree, repository.prefix + name)
    every = name not in _DOCUMENTS
    return {
        path: entry
        for path, entry in entries.items()
        if _is_safe(path)
        and (entry.mode == LINK or (entry.mode in _FILES and (every or path.endswith(_ENDINGS))))
    }


def _write_folder(repository: Repository, tree: str, name: str, place: Path, shown: str) -> None:
    """Write a folder of the project in `tree` below `place`; links come last.

    So nothing is written through them.
    """
    entries = _entries(repository, tree, name)
    contents = trees.contents(repository, entries, f"{shown}:{repository.prefix}{name}")
    for path, entry in sorted(entries.items(), key=lambda item: item[1].mode == LINK):
        target = place / name / path
        if entry.mode != LINK:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(contents[path])
        elif not os.path.lexists(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            os.symlink(os.fsdecode(contents[path]), target)


def _is_safe(path: str) -> bool:
    """Whether a name of a tree, which anyone may have made, stays in its folder."""
    return not {"", ".", ".."}.intersection(path.split("/"))
