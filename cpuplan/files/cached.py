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
        file = _create(folder, draft)
        with open(file, "wb", buffering=0) as opened:
            opened.write(data)
        for other in others:
            _link(draft, other)
        os.replace(draft, path)
    except OSError:
        return False
    return True


def _create(folder: str, draft: str) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(draft, flags, 0o600)
    except FileNotFoundError:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        return os.open(draft, flags, 0o600)


def _link(draft: str, path: Path) -> None:
    """Give a draft another name, whatever had that before."""
    second = f"{draft}-2"
    os.link(draft, second)
    os.replace(second, path)
