"""Folders for the time of a run. Those that killed runs left are removed by the next run.

A folder is held by a flock(2), which ends with the last process that has it: that of the run, and
the programs that it started and gave it to. So one that nobody holds is left over.
"""

import fcntl
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

_PREFIX = "cpuplan-run-"
_NAME = re.compile(re.escape(_PREFIX) + r"[a-z0-9_]{8}")
_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Held(NamedTuple):
    """A folder that only this user may enter, and the open file that holds it."""

    path: Path
    descriptor: int


@contextmanager
def folder() -> Iterator[Held]:
    """A new folder, which is removed at the end. Raises OSError."""
    remove_left_over()
    held = _make()
    try:
        yield held
    finally:
        shutil.rmtree(held.path, ignore_errors=True)
        os.close(held.descriptor)


def _make() -> Held:
    """A folder that is held. Until it is, another run may take it for left over: then once more."""
    while True:
        path = tempfile.mkdtemp(prefix=_PREFIX)
        try:
            descriptor = os.open(path, _FLAGS)
        except FileNotFoundError:
            continue
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if _is_at(path, os.fstat(descriptor)):
            return Held(Path(path), descriptor)
        os.close(descriptor)


def remove_left_over() -> None:
    """Remove the folders of this user that no process holds."""
    top = tempfile.gettempdir()
    with suppress(OSError):
        for name in filter(_NAME.fullmatch, os.listdir(top)):
            with suppress(OSError):
                _remove(os.path.join(top, name))


def _remove(path: str) -> None:
    descriptor = os.open(path, _FLAGS)
    try:
        status = os.fstat(descriptor)
        if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) != stat.S_IRWXU:
            return
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_at(path, status):
            shutil.rmtree(path)
    finally:
        os.close(descriptor)


def _is_at(path: str, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.lstat(path), status)
    except FileNotFoundError:
        return False
