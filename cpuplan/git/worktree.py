"""What Git has of a folder: a file that it has can be overwritten, and nothing is lost."""

from pathlib import Path
from typing import NamedTuple

from cpuplan.diagnostics import CpuplanError
from cpuplan.git.program import run

_COMMITTED = "HEAD^1", "HEAD^2"


class Tracked(NamedTuple):
    """Paths below the folder whose content Git has in a commit or its index, and changed ones."""

    has: frozenset[str]
    changed: frozenset[str]


def look(folder: Path) -> Tracked | None:
    """What Git has of `folder`; None outside of a work tree, and where Git cannot be run.

    In the middle of a merge Git has both sides of a file, whatever its text is.
    """
    listed = _ask(folder, "ls-files", "-z", "--cached")
    changed = _ask(folder, "ls-files", "-z", "--modified")
    unmerged = _ask(folder, "ls-files", "-z", "--unmerged")
    if listed is None or changed is None or unmerged is None:
        return None
    merging = {entry.partition("\t")[2] for entry in unmerged}
    differing = frozenset(changed) - merging
    return Tracked(frozenset(listed) - differing, differing)


def of_merged(folder: Path, *paths: str) -> list[str]:
    """The lines of files on both sides of a merge that is in progress, or was committed last.

    A path may be that of a folder, whose files are meant.
    """
    for ours, theirs in (
        ("HEAD", "MERGE_HEAD"),
        ("HEAD", "CHERRY_PICK_HEAD"),
        ("HEAD", "REBASE_HEAD"),
        _COMMITTED,
    ):
        if _ask(folder, "rev-parse", "-q", "--verify", f"{theirs}^{{commit}}") is not None:
            return [*_lines(folder, ours, paths), *_lines(folder, theirs, paths)]
    return []


def _lines(folder: Path, commit: str, paths: tuple[str, ...]) -> list[str]:
    names = _ask(folder, "ls-tree", "-r", "-z", "--name-only", commit, "--", *paths)
    texts = _ask(folder, "show", *(f"{commit}:./{name}" for name in names)) if names else []
    return [line for text in texts or () for line in text.splitlines()]


def _ask(folder: Path, *words: str) -> list[str] | None:
    try:
        done = run(folder, *words)
    except CpuplanError:
        return None
    return None if done.code else done.parts
