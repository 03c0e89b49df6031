"""What Git has of a folder: a file that it has can be overwritten, and nothing is lost."""

import os
from pathlib import Path
from typing import NamedTuple

#: Seconds; on 100,000 files it takes one.
_LIMIT = 60
_COMMITTED = "HEAD^1", "HEAD^2"


class Tracked(NamedTuple):
    """Paths below the folder whose content Git has in a commit or its index, and changed ones."""

    has: frozenset[str]
    changed: frozenset[str]


def look(folder: Path) -> Tracked | None:
    """What Git has of `folder`; None outside of a work tree, and where Git cannot be run.

    In the middle of a merge Git has both sides of a file, whatever its text is.
    """
    listed = _run(folder, "ls-files", "-z", "--cached")
    changed = _run(folder, "ls-files", "-z", "--modified")
    unmerged = _run(folder, "ls-files", "-z", "--unmerged")
    if listed is None or changed is None or unmerged is None:
        return None
    merging = {entry.partition("\t")[2] for entry in unmerged}
    differing = frozenset(changed) - merging
    return Tracked(frozenset(listed) - differing, differing)


def of_merged(folder: Path, path: str) -> list[str]:
    """The lines of a file on both sides of a merge that is in progress, or was committed last."""
    for ours, theirs in (
        ("HEAD", "MERGE_HEAD"),
        ("HEAD", "CHERRY_PICK_HEAD"),
        ("HEAD", "REBASE_HEAD"),
        _COMMITTED,
    ):
        if _run(folder, "rev-parse", "-q", "--verify", f"{theirs}^{{commit}}") is not None:
            sides = [_run(folder, "show", f"{side}:./{path}") or [] for side in (ours, theirs)]
            return [line for side in sides for text in side for line in text.splitlines()]
    return []


def _run(folder: Path, *words: str) -> list[str] | None:
    import subprocess  # most comparisons need not ask

    # Paths are relative to the folder. A program that the repository's configuration names must not
    # run.
    command = ["git", "-C", os.fspath(folder), "-c", "core.fsmonitor=false", *words]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            command, capture_output=True, check=False, timeout=_LIMIT, env=environment
        )
    except (OSError, subprocess.SubprocessError):
        return None
    if done.returncode:
        return None
    return [part.decode(errors="surrogateescape") for part in done.stdout.split(b"\0") if part]
