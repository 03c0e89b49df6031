"""The user's cache folder: files that only the user can write, whole or not there at all."""

import os
import stat
import threading
from pathlib import Path

from cpuplan.files import Unreadable, read_regular


def folder() -> Path | None:
    """The folder of cpuplan in the user's cache; None without a home folder."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    home = Path(given) if os.path.isabs(given) else Path(os.path.expanduser("~"), ".cache")
    return home / "cpuplan" if home.is_absolute() else None


def is_own(path: Path, *, kind: int = stat.S_IFREG) -> bool:
    """Whether a file, or another `kind`, is the user's, and nobody else may write it; no link."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    is_closed = not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return stat.S_IFMT(found.st_mode) == kind and found.st_uid == os.geteuid() and is_closed


def read(path: Path, limit: int) -> bytes | None:
    """The bytes of one's own file; None where there is none, or none to believe."""
    try:
        return read_regular(path, limit=limit) if is_own(path) else None
    except Unreadable:
        return None


def write(path: Path, data: bytes, *others: Path) -> bool:
    """Write a file at once, whoever else does too, also by `others` names in the same folder.

    False where that is not possible.
    """
    folder, draft = os.path.dirname(path), f"{path}.{os.getpid()}-{threading.get_ident()}"
    try:
        _create(folder, draft, data)
        for other in others:
            second = f"{draft}-2"
            try:
                os.link(draft, second)
            except OSError:  # not on every file system
                _create(folder, second, data)
            os.replace(second, other)
        os.replace(draft, path)
    except OSError:
        return False
    return True


def _create(folder: str, draft: str, data: bytes) -> None:
    with open(_opened(folder, draft), "wb") as file:
        file.write(data)


def _opened(folder: str, draft: str) -> int:
    """A new file for this user; its folder is made, too, if there is none."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(draft, flags, 0o600)
    except FileNotFoundError:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        return os.open(draft, flags, 0o600)
