"""The folder beside the output in which its successor is made, and proof of who made it.

    .out.cpuplan-stage/of-<inode>   empty, named after the stage's inode: made first, deleted last
    .out.cpuplan-stage/tree         the new tree; after the exchange the old one
    .out.cpuplan-stage/journal      written when the tree is complete, until the exchange is settled
    .out.cpuplan-stage/beside       a file that goes with the new tree, until that is settled
    .out.cpuplan-stage/old          the old tree, between two renames instead of renameat2(2)

A repository may contain a folder of this name. Git keeps no empty folder and nobody chooses inodes,
so a stage without its mark is neither read, moved nor deleted; nor is a tree whose inode is not in
the journal.
"""

import errno
import json
import os
from pathlib import Path
from typing import NamedTuple

from cpuplan.base.files import Unreadable, is_plain, read_regular
from cpuplan.diagnostics import CpuplanError, Diagnostic, diagnose
from cpuplan.write.tree import FOLDER, Entry, create, look

#: Of a journal: some hundred bytes for each file of the output folder.
_MAX_JOURNAL = 256 * 1024 * 1024


class Stage(NamedTuple):
    """The folder beside `out` in which its successor is made."""

    out: Path
    folder: Path

    @property
    def tree(self) -> Path:
        return self.folder / "tree"

    @property
    def old(self) -> Path:
        return self.folder / "old"

    @property
    def journal(self) -> Path:
        return self.folder / "journal"

    @property
    def beside(self) -> Path:
        return self.folder / "beside"

    @property
    def spare(self) -> Path:
        return self.folder / "spare"

    @property
    def mark(self) -> Path:
        return self.folder / f"of-{os.lstat(self.folder).st_ino}"


class Journal(NamedTuple):
    """What settles an exchange: the inodes of both trees, the old tree as read, cpuplan's paths.

    `beside` is the place of the file that goes with the new tree, relative to the folder above;
    empty for none.
    """

    new: int
    old: int | None
    before: dict[str, Entry]
    claimed: frozenset[str]
    beside: str = ""


def stage_of(out: Path) -> Stage:
    return Stage(out, out.with_name(f".{out.name}.cpuplan-stage"))


def inode(path: Path) -> int | None:
    """The inode of the folder at `path`; None where there is nothing."""
    try:
        return os.lstat(path).st_ino
    except FileNotFoundError:
        return None


def begin(stage: Stage) -> None:
    """Make the stage and its mark, which Git ignores."""
    os.mkdir(stage.folder, 0o700)
    os.mkdir(stage.mark)
    create(stage.folder / ".gitignore", b"*\n")


def is_left_over(stage: Stage) -> bool:
    """Whether a killed run left a stage.

    A run that was killed before it made the mark left nothing: its stage is deleted.

    Raises CpuplanError (CP601, CP602) if anything but a stage of this user and machine is there.
    """
    entry = look(stage.folder)
    if entry is None:
        return False
    if entry.kind == FOLDER and _is_marked(stage):
        return True
    refused = in_the_way(stage)
    if refused:
        raise CpuplanError([refused])
    try:
        os.rmdir(stage.folder)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        raise foreign(stage) from None
    return False


def in_the_way(stage: Stage) -> Diagnostic | None:
    """CP601 or CP602 for what is in the place of a stage and is none of this user and machine."""
    entry = look(stage.folder)
    if entry is None:
        return None
    if entry.kind != FOLDER:
        return diagnose("CP601", path=stage.folder, kind=entry.kind, wanted=FOLDER)
    if _is_marked(stage) or not os.listdir(stage.folder):
        return None
    return _foreign(stage)


def foreign(stage: Stage) -> CpuplanError:
    """The error for a stage that no run on this machine made."""
    return CpuplanError([_foreign(stage)])


def _foreign(stage: Stage) -> Diagnostic:
    return diagnose("CP602", path=stage.folder, kind="a folder", wanted="the stage of a run")


def _is_marked(stage: Stage) -> bool:
    mark = look(stage.mark)
    mine = os.lstat(stage.folder).st_uid == os.geteuid()
    return mine and mark is not None and mark.kind == FOLDER and not os.listdir(stage.mark)


def write_journal(stage: Stage, journal: Journal) -> None:
    """Write the journal to disk."""
    entries, claimed = list(journal.before.items()), sorted(journal.claimed)
    data = [journal.new, journal.old, entries, claimed, journal.beside]
    create(stage.journal, json.dumps(data).encode(), sync=True)


def read_journal(stage: Stage) -> Journal | None:
    """The journal; None if it is missing or incomplete, because then nothing was exchanged yet."""
    try:
        new, old, entries, claimed, beside = json.loads(
            read_regular(stage.journal, within=stage.folder, limit=_MAX_JOURNAL)
        )
        before = {path: Entry(*entry) for path, entry in entries}
        journal = Journal(new, old, before, frozenset(claimed), beside)
        return journal if _is_written(journal) else None
    except (Unreadable, ValueError, TypeError, AttributeError, RecursionError):
        return None


def _is_written(journal: Journal) -> bool:
    """Whether the values are what `write_journal` writes.

    Values of other types raise TypeError or AttributeError.
    """
    paths = [*journal.before, *journal.claimed, *([journal.beside] if journal.beside != "" else [])]
    return (
        isinstance(journal.new, int)
        and isinstance(journal.old, int | None)
        and all(map(is_plain, paths))
    )
