"""A merge made in memory: what Git cannot merge, and what the result brings in."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from cpuplan.base import files
from cpuplan.base.cpuset import CpuSet, cpus_text, union
from cpuplan.base.files import cache
from cpuplan.base.program import resource
from cpuplan.base.progress import stage
from cpuplan.base.text import joined
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Position
from cpuplan.fleet import lock
from cpuplan.fleet.lock import Key, Lock
from cpuplan.fleet.previous import CLASSES
from cpuplan.git import trees
from cpuplan.git.program import LONG, run, unusable
from cpuplan.git.repository import Repository
from cpuplan.git.trees import EXECUTABLE, FILE, LINK, Entry
from cpuplan.language.read.files import FOLDERS, LOCK_PATH, OUTPUT, POD_FOLDER
from cpuplan.pipeline.lock_diff import Moves
from cpuplan.render.changes import direction
from cpuplan.solve.layout import Slot
from cpuplan.solve.moves import groups

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


_HINT = (
    "merge {ref} and run `cpuplan compile`, which takes a layout that fits the merged inputs, and "
    "review the CPUs that it says move"
)
_MOVED = "no layout of the two sides fits the merged inputs: {}"
_NOWHERE = "no pool"
#: Templates of `.gitattributes`, and where they belong in a project.
_ATTRIBUTES = {"gitattributes": "", "out.gitattributes": "out/"}
_UNION = "merge=union"
#: The exit code of a program that does not know its options.
_USAGE = 129
_Pools = Mapping[str, CpuSet]


class Merge(NamedTuple):
    """The commits of a merge, and the tree that it gives; `conflicts` are paths of the project."""

    #: What people call the commit that is merged.
    ref: str
    base: str
    ours: str
    theirs: str
    tree: str
    conflicts: tuple[str, ...]


@stage("merging in memory")
def merge(repository: Repository, ref: str | None) -> Merge:
    """Merge a commit, by default the main branch, into the present one.

    No index, work tree or branch is touched. Raises CpuplanError: CP688 to CP690, CP6111.
    """
    ours = trees.commit_of(repository, "HEAD")
    if ref is None:
        ref = trees.main_branch(repository)
        theirs = trees.commit_of(repository, trees.MAIN[ref])
    else:
        theirs = trees.commit_of(repository, ref)
    base = trees.common_commit(repository, "HEAD", ref, theirs)
    for commit in (ours, theirs):
        check_sizes(repository, commit)
    _write_attributes(repository)
    words = ("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs)
    done = run(repository, *words, limit=LONG)
    if done.code not in (0, 1) or not done.parts:
        is_old = done.code == _USAGE
        hint = "; a merge in memory needs Git 2.38 or newer" if is_old else ""
        raise unusable(repository, f"{done.problem}{hint}")
    tree, *paths = done.parts
    start = repository.prefix
    inside = [path.removeprefix(start) for path in paths if path.startswith(start)]
    return Merge(ref, base, ours, theirs, tree, tuple(dict.fromkeys(inside)))


def _write_attributes(repository: Repository) -> None:
    """Let Git unite what cpuplan's own `.gitattributes` name, whatever those of a commit say."""
    lines = []
    for name, place in _ATTRIBUTES.items():
        for line in resource("templates", "git", name).read_text().splitlines():
            pattern, _, attributes = line.partition(" ")
            if _UNION in attributes.split():
                start = re.sub(r"([*?\[\\])", r"\\\1", repository.prefix + place)
                quoted = f"{start}{pattern}".replace("\\", "\\\\").replace('"', '\\"')
                lines.append(f'"{quoted}" {_UNION}\n')
    folder = repository.door / "common/info"
    folder.mkdir(exist_ok=True)
    (folder / "attributes").write_bytes("".join(lines).encode(errors="surrogateescape"))


def of_inputs(merged: Merge) -> list[Diagnostic]:
    """CP698 for inputs that Git cannot merge; the lock has an answer of its own."""
    folders = tuple(f"{folder}/" for folder in (*FOLDERS, POD_FOLDER))
    hint = "merge it by hand, then run `cpuplan compile`"
    return [
        diagnose(
            "CP698", Position(path, 0, 0), what=path, problem="both sides change it", hint=hint
        )
        for path in merged.conflicts
        if path.startswith(folders) and path != LOCK_PATH
    ]


@stage("comparing layouts")
def of_layouts(repository: Repository, merged: Merge) -> list[Diagnostic]:
    """CP698 for classes whose layout both sides changed, each in its own way."""
    base, ours, theirs = (
        _lock_at(repository, commit) for commit in (merged.base, merged.ours, merged.theirs)
    )
    findings = []
    for key in sorted(ours.keys() & theirs.keys()):
        sides = ours[key].pools, theirs[key].pools
        before = base[key].pools if key in base else None
        if sides[0] != sides[1] and before not in sides:
            findings.append(_both(key, before, sides, merged.ref))
    return findings


def _lock_at(repository: Repository, commit: str) -> Lock:
    """The layouts of a commit; what is wrong with them is for those who judge the merge."""
    folder, _, name = LOCK_PATH.rpartition("/")
    place = repository.prefix + folder
    entry = trees.entries_of(repository, commit, place).get(name)
    if entry is None:
        return {}
    data = trees.content(repository, entry, f"{commit}:{place}/{name}")
    return lock.read(data, LOCK_PATH)[0]


def _both(key: Key, before: _Pools | None, sides: tuple[_Pools, _Pools], ref: str) -> Diagnostic:
    if before is None:
        problem = "both sides add it, with different layouts"
        return _finding(key, problem, _HINT.format(ref=ref))
    ours, theirs = (groups(_sorted(before), _sorted(side)) for side in sides)
    both = union(ours.values()) & union(theirs.values())
    problem = f"HEAD {_told(ours)}, and {ref} {_told(theirs)}"
    if both:
        problem += f"; both move {cpus_text(both)}"
    return _finding(key, problem, _HINT.format(ref=ref))


def _sorted(pools: _Pools) -> _Pools:
    return dict(sorted(pools.items()))


def _told(moved: Mapping[tuple[Slot, Slot], CpuSet]) -> str:
    parts = [
        f"moves {cpus_text(cpus)} from {joined(left) or _NOWHERE} to {joined(entered) or _NOWHERE}"
        for (left, entered), cpus in moved.items()
    ]
    return joined(parts) or "orders it differently"


def of_moves(moved: Iterable[Moves], known: Iterable[Diagnostic], ref: str) -> list[Diagnostic]:
    """CP698 for classes that no layout of the two sides fits any more; not for `known` ones."""
    told = {name for finding in known for name in finding.classes}
    return [
        _finding(moves.node_class.key, _MOVED.format(_text(moves)), _HINT.format(ref=ref))
        for moves in moved
        if moves.node_class.full_name not in told
    ]


def _text(moves: Moves) -> str:
    return "; ".join(map(direction, moves.moves)) or "another class's layout is taken"


def _finding(key: Key, problem: str, hint: str) -> Diagnostic:
    what = f"class {key[1]} of cluster {key[0]}"
    place = Position(LOCK_PATH, 0, 0)
    finding = diagnose("CP698", place, what=what, problem=problem, hint=hint)
    return finding._replace(classes=("/".join(key),))
