"""A merge of two commits, made in memory: what Git cannot merge, and which layouts both moved."""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from cpuplan.base.cpuset import CpuSet, cpus_text, union
from cpuplan.base.program import resource
from cpuplan.base.progress import stage
from cpuplan.base.text import joined
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Position
from cpuplan.fleet import lock as locks
from cpuplan.fleet.lock import Key, Lock
from cpuplan.git import trees
from cpuplan.git.program import LONG, run, unusable
from cpuplan.git.repository import Repository
from cpuplan.gitops import project
from cpuplan.language.read.files import FOLDERS, LOCK_PATH, POD_FOLDER
from cpuplan.pipeline import Moves
from cpuplan.render.changes import direction
from cpuplan.solve.layout import Slot
from cpuplan.solve.moves import groups

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
        project.check_sizes(repository, commit)
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
    found = []
    for key in sorted(ours.keys() & theirs.keys()):
        sides = ours[key].pools, theirs[key].pools
        before = base[key].pools if key in base else None
        if sides[0] != sides[1] and before not in sides:
            found.append(_both(key, before, sides, merged.ref))
    return found


def _lock_at(repository: Repository, commit: str) -> Lock:
    """The layouts of a commit; what is wrong with them is for those who judge the merge."""
    folder, _, name = LOCK_PATH.rpartition("/")
    place = repository.prefix + folder
    entry = trees.entries_of(repository, commit, place).get(name)
    if entry is None:
        return {}
    data = trees.content(repository, entry, f"{commit}:{place}/{name}")
    return locks.read(data, LOCK_PATH)[0]


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
        _finding(each.node_class.key, _MOVED.format(_text(each)), _HINT.format(ref=ref))
        for each in moved
        if each.node_class.full_name not in told
    ]


def _text(moves: Moves) -> str:
    return "; ".join(map(direction, moves.moves)) or "another class's layout is taken"


def _finding(key: Key, problem: str, hint: str) -> Diagnostic:
    what = f"class {key[1]} of cluster {key[0]}"
    place = Position(LOCK_PATH, 0, 0)
    found = diagnose("CP698", place, what=what, problem=problem, hint=hint)
    return found._replace(classes=("/".join(key),))
