"""Replacing a folder in one step: a new tree is made beside it and the two change places.

A run that is killed leaves its stage; `recover` finishes or undoes its work. All of it happens
under the lock.
"""

import errno
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from cpuplan.diagnostics import CpuplanError, diagnose
from cpuplan.write.compare import Comparison, folders_of
from cpuplan.write.manifest import ancestors, parents
from cpuplan.write.tree import (
    FILE,
    FOLDER,
    Entry,
    Journal,
    Stage,
    begin,
    check_movable,
    copy_attributes,
    create,
    duplicate,
    foreign,
    inode,
    is_left_over,
    look,
    read_journal,
    remove,
    remove_known,
    scan,
    stage_of,
    sync_file_system,
    sync_folder,
    write_journal,
)

#: renameat2(2): change places. Its errors where the kernel, the file system or a container's
#: seccomp filter lacks it.
RENAME_EXCHANGE = 2
_AT_FDCWD = -100
_NO_EXCHANGE = {errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM}


class Beside(NamedTuple):
    """A file that is written together with the tree: its path relative to the folder above."""

    path: str
    data: bytes


def replace(out: Path, comparison: Comparison, beside: Beside | None = None) -> bool:
    """Replace the compared folder by its new state.

    False if cpuplan's own files changed meanwhile: compare again.

    Whatever is raised (OSError, CP605, KeyboardInterrupt), the old tree is then in its place and
    the stage is gone.
    """
    stage = stage_of(out)
    try:
        begin(stage)
        _build(stage, comparison)
        if beside:
            _build_beside(stage, beside)
        place = beside.path if beside else ""
        journal = Journal(
            os.stat(stage.tree).st_ino, inode(out), comparison.before, comparison.claimed, place
        )
        write_journal(stage, journal)
        if look(out) is None:
            os.rename(stage.tree, out)
        else:
            _exchange(stage)
        settled = _settle(stage, journal)
        if settled:
            _place_or_undo(stage, journal)
        _clean(stage, comparison.before if settled else {})
    except BaseException:
        with suppress(OSError, CpuplanError):  # the first error says more; the next run tries again
            recover(out)
        raise
    return settled


def recover(out: Path) -> None:
    """Finish or undo what a killed run left beside `out`.

    Raises OSError, CP601, CP602 and CP605.
    """
    stage = stage_of(out)
    if not is_left_over(stage):
        return
    journal = read_journal(stage)
    old = inode(stage.old)
    if old is not None:
        if journal is None or old != journal.old:
            raise foreign(stage)
        os.rename(stage.old, stage.tree if look(out) is not None else out)
    is_new = journal and inode(out) == journal.new and inode(stage.tree) in (journal.old, None)
    if journal and is_new and _settle(stage, journal):
        _place_beside(stage, journal)
    _clean(stage, {})


def _build_beside(stage: Stage, beside: Beside) -> None:
    target = stage.out.parent / beside.path
    entry = look(target)
    if entry is not None and entry.kind != FILE:
        raise CpuplanError([diagnose("CP601", path=beside.path, kind=entry.kind, wanted=FILE)])
    os.makedirs(target.parent, exist_ok=True)
    check_movable(target.parent)
    create(
        stage.beside,
        beside.data,
        mode=None if entry is None else os.stat(target).st_mode & 0o7777,
        sync=True,
    )


def _place_or_undo(stage: Stage, journal: Journal) -> None:
    try:
        _place_beside(stage, journal)
    except OSError:
        if look(stage.tree) is None:
            os.rename(stage.out, stage.tree)
        else:
            _exchange(stage)
        raise


def _place_beside(stage: Stage, journal: Journal) -> None:
    """Move the file that belongs to the new tree to its place.

    After a kill it may be there already.
    """
    if journal.beside and look(stage.beside) is not None:
        target = stage.out.parent / journal.beside
        os.rename(stage.beside, target)
        sync_folder(target.parent)


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
    """Exchange `out` and the tree of the stage.

    Without renameat2(2) this takes three renames, which `recover` can complete.
    """
    import ctypes  # what only compares needs none

    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    code = errno.ENOSYS
    if renameat2 is not None:
        first, second = os.fsencode(stage.out), os.fsencode(stage.tree)
        failed = renameat2(_AT_FDCWD, first, _AT_FDCWD, second, RENAME_EXCHANGE)
        code = ctypes.get_errno() if failed else 0
    if code in _NO_EXCHANGE:
        os.rename(stage.out, stage.old)
        os.rename(stage.tree, stage.out)
        os.rename(stage.old, stage.tree)
    elif code:
        raise OSError(code, os.strerror(code), os.fspath(stage.out))


def _settle(stage: Stage, journal: Journal) -> bool:
    """Carry over what others did in the old tree after it was read.

    Where that touches cpuplan's files, the old tree is put back instead and the answer is False. It
    may be repeated after a kill.
    """
    if look(stage.tree) is None:
        return True  # the first run: there was nothing to exchange with
    after = scan(stage.tree)
    before = journal.before
    late = sorted(
        path for path in before.keys() | after.keys() if before.get(path) != after.get(path)
    )
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
    """Copy what is at `path` in the old tree to the new tree.

    It stays in the old tree too, so that this can be repeated.
    """
    source, target = stage.tree / path, stage.out / path
    if entry.kind == FOLDER:
        os.makedirs(target, exist_ok=True)
        copy_attributes(source, target, times=False)
        return
    os.makedirs(target.parent, exist_ok=True)
    _forget(stage.spare)
    duplicate(source, stage.spare)
    os.rename(stage.spare, target)


def _clean(stage: Stage, old: Mapping[str, Entry]) -> None:
    """Delete the stage: the journal first, as a tree without it is ignored; the mark last.

    `old` is what is known of its tree.
    """
    sync_folder(stage.folder.parent)
    _forget(stage.journal)
    if old:
        remove_known(stage.tree, old)
    mark = stage.mark
    for name in os.listdir(stage.folder):
        if name != mark.name:
            remove(stage.folder / name)
    os.rmdir(mark)
    os.rmdir(stage.folder)
