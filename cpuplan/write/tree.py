"""Files and folders on disk, and the folder beside the output in which its successor is made."""

import errno
import json
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from cpuplan.base import files
from cpuplan.base.files import FLAGS, Unreadable, is_plain, read_open, read_regular
from cpuplan.diagnostics import CpuplanError, Diagnostic, diagnose

#: Of one file of the output folder that is compared.
MAX_BYTES = 256 * 1024 * 1024
FILE, FOLDER, LINK, OTHER = "a file", "a folder", "a symbolic link", "a special file"
#: Errors of link(2) after which a copy is tried: another owner's file (fs.protected_hardlinks), too
#: many links, a file system without links. Not EXDEV: what is mounted inside the folder must not be
#: deleted with the old tree.
_COPY_INSTEAD = {errno.EPERM, errno.EACCES, errno.EMLINK, errno.EOPNOTSUPP, errno.ENOSYS}


class Entry(NamedTuple):
    """One name in a tree. Size and mtime (ns) show whether a file changed; folders have 0 for both.

    Not the inode: overlayfs may give a file another number when it is linked (docs.kernel.org,
    overlayfs, st_ino).
    """

    kind: str
    size: int = 0
    mtime: int = 0


def look(path: str | Path) -> Entry | None:
    """What is at `path`, not following a link; None when nothing is."""
    try:
        return _entry(os.lstat(path))
    except FileNotFoundError:
        return None


def _entry(status: os.stat_result) -> Entry:
    if stat.S_ISDIR(status.st_mode):
        return Entry(FOLDER)
    kind = OTHER
    if stat.S_ISREG(status.st_mode):
        kind = FILE
    elif stat.S_ISLNK(status.st_mode):
        kind = LINK
    return Entry(kind, status.st_size, status.st_mtime_ns)


def scan(root: Path) -> dict[str, Entry]:
    """Everything below `root` by relative POSIX path; empty when `root` is missing.

    Raises OSError, CP605 and CP1110.
    """
    entries: dict[str, Entry] = {}
    if look(root) is None:
        return entries
    device, top = os.lstat(root).st_dev, os.fspath(root)
    folders = [""]
    while folders:
        prefix = folders.pop()
        with os.scandir(f"{top}/{prefix}") as names:  # thousands: a Path would cost as much again
            listed = [*names]
            nested = files.nested_repository([name.name for name in listed])
            if nested is not None:
                path = f"{top}/{prefix}{nested}".rstrip("/")
                raise CpuplanError([diagnose("CP1110", path=path)])
            for name in listed:
                status = name.stat(follow_symlinks=False)
                path = prefix + name.name
                entries[path] = entry = _entry(status)
                if entry.kind == FOLDER:
                    if status.st_dev != device:
                        raise CpuplanError([diagnose("CP605", path=name.path)])
                    folders.append(path + "/")
    return entries


def read(path: str | Path) -> bytes:
    """The bytes of a regular file.

    Raises OSError for a symbolic link (ELOOP), anything that is not a file, and a file above
    MAX_BYTES.
    """
    file = os.open(path, FLAGS | os.O_NOFOLLOW)
    try:
        return read_open(file, MAX_BYTES)
    except Unreadable as error:
        raise OSError(error.errno or errno.EINVAL, error.problem, os.fspath(path)) from error
    finally:
        os.close(file)


def create(path: str | Path, data: bytes, *, mode: int | None = None, sync: bool = False) -> None:
    """Write a new file; `mode` is set whatever the umask says."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(file, rest) :]
        if mode is not None:
            os.fchmod(file, mode)
        if sync:
            os.fsync(file)
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error
    finally:
        os.close(file)


def duplicate(source: str | Path, target: str | Path) -> None:
    """Make `target` a hard link to `source`, or a copy with its mode and times."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError as error:
        entry = look(source)
        if error.errno not in _COPY_INSTEAD or entry is None or entry.kind not in (FILE, LINK):
            raise
        import shutil  # an unchanged run needs no copy

        shutil.copy2(source, target, follow_symlinks=False)


def check_movable(folder: str | Path) -> None:
    """Refuse (PermissionError) a folder whose content cannot be deleted after the exchange."""
    if (
        not os.access(folder, os.W_OK | os.X_OK, effective_ids=True)
        and os.lstat(folder).st_uid != os.geteuid()
    ):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(folder))


def copy_attributes(source: str | Path, target: str | Path, *, times: bool) -> None:
    """Give the new folder `target` the attributes of `source`.

    These are owner, mode, extended attributes (ACL, SELinux) and, on request, times.
    """
    old, new = os.stat(source), os.stat(target)
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        # Only root may give a folder away; the writer of a shared checkout owns what it writes, as
        # with Git.
        with suppress(PermissionError):
            os.chown(target, old.st_uid, old.st_gid)
    if _has_extended(source):
        import shutil  # few folders need it

        shutil.copystat(source, target)
        if not times:
            os.utime(target)
        return
    if old.st_mode != new.st_mode:
        os.chmod(target, stat.S_IMODE(old.st_mode))
    if times:
        os.utime(target, ns=(old.st_atime_ns, old.st_mtime_ns))


def _has_extended(path: str | Path) -> bool:
    """Whether a folder has, or may have, more attributes than owner, mode and times."""
    try:
        return bool(os.listxattr(path))
    except (AttributeError, OSError):  # not on every system and file system
        return True


def remove(path: str | Path) -> None:
    """Delete the file, link or folder at `path`, if there is one."""
    entry = look(path)
    if entry is not None:
        (remove_tree if entry.kind == FOLDER else os.unlink)(path)


def remove_tree(root: str | Path) -> None:
    """Delete the folder `root` and all below it, read-only folders too. Links are not followed."""
    try:
        _remove_tree(root)
    except PermissionError:
        os.chmod(root, stat.S_IRWXU)
        for path, folders, _ in os.walk(root):
            for folder in folders:
                below = os.path.join(path, folder)
                if not os.path.islink(below):
                    os.chmod(below, stat.S_IRWXU)
        _remove_tree(root)


def remove_known(root: Path, entries: Mapping[str, Entry]) -> None:
    """Delete the folder `root`, below which `entries` were found; also what came since."""
    try:
        for path in sorted(entries, reverse=True):  # what is in a folder comes before it
            (os.rmdir if entries[path].kind == FOLDER else os.unlink)(f"{root}/{path}")
        os.rmdir(root)
    except OSError:
        remove(root)


def _remove_tree(root: str | Path) -> None:
    with os.scandir(root) as names:
        for name in list(names):
            if name.is_dir(follow_symlinks=False):
                _remove_tree(name.path)
            else:
                os.unlink(name.path)
    os.rmdir(root)


def sync_folder(folder: str | Path) -> None:
    """Bring a folder's names to disk."""
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def sync_file_system(folder: Path) -> None:
    """Bring everything written to disk by one syncfs(2).

    An fsync(2) of each of 10,000 files takes far longer.
    """
    import ctypes  # an unchanged run writes nothing

    syncfs = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if syncfs is None:
        os.sync()
        return
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if syncfs(file):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), os.fspath(folder))
    finally:
        os.close(file)


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
