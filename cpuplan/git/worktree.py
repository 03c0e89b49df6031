"""What Git has of a folder: a file that it has can be overwritten, and nothing is lost.

Git's index has the names of contents, and the files are digested here: no filter that attributes
name takes part.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from cpuplan.base.files import FLAGS, Unreadable, read_open
from cpuplan.diagnostics import CpuplanError
from cpuplan.git import trees
from cpuplan.git.door import opened
from cpuplan.git.program import LONG, run
from cpuplan.git.repository import Repository, object_name

_COMMITTED = "HEAD^1", "HEAD^2"
#: Bytes of the index's list.
_MAX_LISTING = 256 * 1024 * 1024
_MAX_BYTES = 256 * 1024 * 1024


class Tracked(NamedTuple):
    """Paths below the folder whose content Git has in a commit or its index, and changed ones."""

    has: frozenset[str]
    changed: frozenset[str]


def look(folder: Path, paths: Iterable[str]) -> Tracked | None:
    """What Git has of some paths in `folder`; None outside of a work tree, and without Git.

    In the middle of a merge Git has both sides of a file, whatever its text is.
    """
    try:
        with opened(folder.parent) as repository:
            return _look(repository, folder, frozenset(paths))
    except CpuplanError:
        return None


def _look(repository: Repository, folder: Path, paths: frozenset[str]) -> Tracked | None:
    start = f"{repository.prefix}{folder.name}/"
    words = ("ls-files", "-z", "--stage", "--", f":(top,literal){start}")
    listed = run(repository, *words, limit=LONG, most=_MAX_LISTING)
    if listed.code:
        return None
    has, changed = set(), set()
    for line in listed.parts:
        facts, _, path = line.partition("\t")
        mode, name, stage = facts.split(" ")
        below = path.removeprefix(start)
        if below not in paths:
            continue
        if stage != "0" or name == _name_on_disk(repository, folder / below, mode):
            has.add(below)
        else:
            changed.add(below)
    return Tracked(frozenset(has), frozenset(changed))


def _name_on_disk(repository: Repository, path: Path, mode: str) -> str | None:
    """The name of a file's content, or of a link's target, if it is what the mode says."""
    try:
        if mode == trees.LINK:
            return object_name(repository, os.fsencode(os.readlink(path)))
        if mode not in (trees.FILE, trees.EXECUTABLE):
            return None
        descriptor = os.open(path, FLAGS | os.O_NOFOLLOW)
        try:
            return object_name(repository, read_open(descriptor, _MAX_BYTES))
        finally:
            os.close(descriptor)
    except (OSError, Unreadable):
        return None


def of_merged(folder: Path, *paths: str) -> list[str]:
    """The lines of files on both sides of a merge that is in progress, or was committed last.

    A path may be that of a folder, whose files are meant.
    """
    try:
        with opened(folder.parent) as repository:
            return _of_merged(repository, folder.name, paths)
    except CpuplanError:
        return []


def _of_merged(repository: Repository, folder: str, paths: tuple[str, ...]) -> list[str]:
    for ours, theirs in (
        ("HEAD", "MERGE_HEAD"),
        ("HEAD", "CHERRY_PICK_HEAD"),
        ("HEAD", "REBASE_HEAD"),
        _COMMITTED,
    ):
        commits = trees.find_commit(repository, ours), trees.find_commit(repository, theirs)
        if commits[1] is not None:
            sides = [_lines(repository, commit, folder, paths) for commit in commits if commit]
            return [line for side in sides for line in side]
    return []


def _lines(repository: Repository, commit: str, folder: str, paths: tuple[str, ...]) -> list[str]:
    place = f"{repository.prefix}{folder}"
    entries = {
        path: entry
        for path, entry in trees.entries_of(repository, commit, place).items()
        if path in paths or path.startswith(tuple(f"{path}/" for path in paths))
    }
    modes = (trees.FILE, trees.EXECUTABLE)
    texts = trees.contents(repository, entries, f"{commit}:{place}", modes=modes).values()
    return [line for data in texts for line in data.decode(errors="surrogateescape").splitlines()]
