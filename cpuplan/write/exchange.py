"""Replacing a folder in one step: a new tree is made beside it and the two change places.

    .out.cpuplan-stage/tree      the new tree; after the exchange the old one
    .out.cpuplan-stage/journal   written when the tree is complete; gone when the exchange is settled
    .out.cpuplan-stage/old       the old tree, between the two renames that stand in for renameat2(2)

A run that is killed leaves this folder; `recover` finishes or undoes its work. All of it happens under the lock.
"""

import errno
import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from cpuplan.diagnostics import CpuplanError, diagnose
from cpuplan.write.compare import Comparison, folders_of
from cpuplan.write.manifest import ancestors, is_plain, parents
from cpuplan.write.tree import (
    FILE,
    FOLDER,
    Entry,
    check_movable,
    copy_attributes,
    create,
    duplicate,
    look,
    read,
    remove_tree,
    scan,
    sync_file_system,
    sync_folder,
)

#: renameat2(2): change places. Its errors where the kernel, the file system or a container's seccomp filter lacks it.
RENAME_EXCHANGE = 2
_AT_FDCWD = -100
_NO_EXCHANGE = {errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM}


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
    def spare(self) -> Path:
        return self.folder / "spare"


class Journal(NamedTuple):
    """What is needed to settle an exchange: the new tree's inode, the old tree as it was read, and cpuplan's paths."""

    inode: int
    before: dict[str, Entry]
    claimed: frozenset[str]


def stage_of(out: Path) -> Stage:
    return Stage(out, out.with_name(f".{out.name}.cpuplan-stage"))


def replace(out: Path, comparison: Comparison) -> bool:
    """Put the compared folder's new state in its place. False if cpuplan's own files changed meanwhile: compare again.

    Whatever is raised (OSError, CP605, KeyboardInterrupt), the old tree is then in its place and the stage is gone.
    """
    stage = stage_of(out)
    try:
        os.mkdir(stage.folder, 0o700)
        _build(stage, comparison)
        journal = Journal(os.stat(stage.tree).st_ino, comparison.before, comparison.claimed)
        _write_journal(stage, journal)
        if look(out) is None:
            os.rename(stage.tree, out)
        else:
            _exchange(stage)
        settled = _settle(stage, journal)
        _clean(stage)
    except BaseException:
        with suppress(OSError, CpuplanError):  # the first error says more; the next run tries again
            recover(out)
        raise
    return settled


def recover(out: Path) -> None:
    """Finish or undo what a killed run left beside `out`. Raises OSError, CP601 and CP605."""
    stage = stage_of(out)
    entry = look(stage.folder)
    if entry is None:
        return
    if entry.kind != FOLDER:
        raise CpuplanError([diagnose("CP601", path=stage.folder, kind=entry.kind, wanted=FOLDER)])
    if look(stage.old) is not None:
        os.rename(stage.old, stage.tree if look(out) is not None else out)
    journal = _read_journal(stage)
    if journal and look(out) is not None and os.stat(out).st_ino == journal.inode:
        _settle(stage, journal)
    _clean(stage)


def _build(stage: Stage, comparison: Comparison) -> None:
    """Make the complete new tree: kept paths are linked, so that they stay the same files."""
    out, tree, before = str(stage.out), str(stage.tree), comparison.before
    for path, entry in before.items():
        if entry.kind == FOLDER:
            check_movable(f"{out}/{path}")
    os.mkdir(tree)
    folders = folders_of(comparison)
    for folder in folders:
        os.mkdir(f"{tree}/{folder}")
    for path in sorted(comparison.keep):
        if before[path].kind != FOLDER:
            duplicate(f"{out}/{path}", f"{tree}/{path}")
    for path, data in comparison.write.items():
        mode = None
        if path in before and before[path].kind == FILE:
            mode = os.lstat(f"{out}/{path}").st_mode & 0o777
        create(f"{tree}/{path}", data, mode=mode)
    touched = parents({*comparison.write, *comparison.changes.removed})
    for folder in folders:
        if folder in before and before[folder].kind == FOLDER:
            copy_attributes(f"{out}/{folder}", f"{tree}/{folder}", times=folder not in touched)
    if look(out) is not None:
        copy_attributes(out, tree, times=False)
    sync_file_system(stage.tree)


def _exchange(stage: Stage) -> None:
    """Let `out` and the stage's tree change places: at once, or by three renames that `recover` can complete."""
    import ctypes

    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    code = errno.ENOSYS
    if renameat2 is not None:
        first, second = os.fsencode(stage.out), os.fsencode(stage.tree)
        code = ctypes.get_errno() if renameat2(_AT_FDCWD, first, _AT_FDCWD, second, RENAME_EXCHANGE) else 0
    if code in _NO_EXCHANGE:
        os.rename(stage.out, stage.old)
        os.rename(stage.tree, stage.out)
        os.rename(stage.old, stage.tree)
    elif code:
        raise OSError(code, os.strerror(code), os.fspath(stage.out))


def _settle(stage: Stage, journal: Journal) -> bool:
    """Carry over what others did in the old tree after it was read.

    Where that touches cpuplan's files, the old tree is put back instead and the answer is False. It may be repeated
    after a kill.
    """
    if look(stage.tree) is None:
        return True  # the first run: there was nothing to exchange with
    after = scan(stage.tree)
    before = journal.before
    late = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    folders = parents(journal.claimed) if late else set()
    if any(_clashes(path, after.get(path), journal.claimed, folders) for path in late):
        _exchange(stage)
        return False
    for path in reversed(late):
        if path in before and (path not in after or after[path].kind != before[path].kind):
            _forget(stage.out / path)
    for path in late:
        if path in after:
            _carry(stage, path, after[path])
    return True


def _clashes(path: str, entry: Entry | None, claimed: frozenset[str], folders: set[str]) -> bool:
    """Whether a path that changed late is, is below, or replaces a folder of, a file of cpuplan."""
    if path in claimed or any(folder in claimed for folder in ancestors(path)):
        return True
    return entry is not None and entry.kind != FOLDER and path in folders


def _forget(path: Path) -> None:
    """Delete what was deleted in the old tree; a folder stays if anything is in it."""
    entry = look(path)
    try:
        if entry is not None:
            (os.rmdir if entry.kind == FOLDER else os.unlink)(path)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.ENOENT):
            raise


def _carry(stage: Stage, path: str, entry: Entry) -> None:
    """Give the new tree what is at `path` of the old one, leaving it there too, so that this can be repeated."""
    source, target = stage.tree / path, stage.out / path
    if entry.kind == FOLDER:
        os.makedirs(target, exist_ok=True)
        copy_attributes(source, target, times=False)
        return
    os.makedirs(target.parent, exist_ok=True)
    _forget(stage.spare)
    duplicate(source, stage.spare)
    os.rename(stage.spare, target)


def _clean(stage: Stage) -> None:
    """Delete the stage. The journal goes first: without it a tree found there is worth nothing."""
    sync_folder(stage.folder.parent)
    _forget(stage.journal)
    remove_tree(stage.folder)


def _write_journal(stage: Stage, journal: Journal) -> None:
    import json

    data = [journal.inode, list(journal.before.items()), sorted(journal.claimed)]
    create(stage.journal, json.dumps(data).encode(), sync=True)


def _read_journal(stage: Stage) -> Journal | None:
    """The journal; None when there is none, or it was cut short, and so nothing was exchanged yet."""
    import json

    try:
        inode, entries, claimed = json.loads(read(stage.journal))
        before = {path: Entry(*entry) for path, entry in entries}
    except (FileNotFoundError, ValueError, TypeError):
        return None
    return Journal(inode, before, frozenset(claimed)) if all(map(is_plain, before)) else None
