"""Locks of Git that a killed run left on a branch: removed by the next run, if they are its own.

Git makes `<branch>.lock`, writes the new commit into it and renames it. Whoever is killed in
between leaves it, and no later run can move the branch. So a run notes in the repository which
branch it is about to move, and to which commit, and holds that note by a flock(2), which its Git
has too: a note that nobody holds is of a run that ended, and so is a lock with that commit.
"""

import fcntl
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256

from cpuplan.git.program import Done
from cpuplan.git.repository import Repository

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MAX_BYTES = 4096
#: Seconds by which clocks of file systems may differ.
_SLACK = 2


def moving(
    repository: Repository, ref: str, commit: str, move: Callable[[tuple[int, ...]], Done]
) -> Done:
    """Move a branch to a commit; what an earlier run left of its move is removed first.

    `move` lets Git do it, and hold the files that it is given. Where no note can be written, or
    another run holds it, Git alone decides who moves the branch.
    """
    path = _note_of(repository, ref)
    try:
        descriptor = os.open(path, _FLAGS, 0o600)
    except OSError:
        return move(())
    try:
        if not _is_held(descriptor):
            return move(())
        _remove_stale(repository, ref, descriptor)
        _write(descriptor, f"{ref} {commit}\n".encode(errors="surrogateescape"))
        done = None
        try:
            done = move((descriptor,))
        finally:
            if done is None or done.code < 0:  # Git was killed, and nothing else
                _remove_stale(repository, ref, descriptor)
        with suppress(OSError):
            os.unlink(path)
        return done
    finally:
        os.close(descriptor)


def _note_of(repository: Repository, ref: str) -> str:
    digest = sha256(ref.encode(errors="surrogateescape")).hexdigest()[:16]
    return os.path.join(repository.place.common, f"cpuplan-moves-{digest}")


def _is_held(descriptor: int) -> bool:
    """Whether the note is ours now: a file of this user alone, that no other run holds."""
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _write(descriptor: int, data: bytes) -> None:
    with suppress(OSError):  # then a lock that is left stays
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, data, 0)


def _remove_stale(repository: Repository, ref: str, descriptor: int) -> None:
    """Remove the lock of a branch, if the noted run made it.

    It has the noted commit or the beginning of it, and was made after the note.
    """
    words = os.pread(descriptor, _MAX_BYTES, 0).split()
    if len(words) != 2 or words[0] != ref.encode(errors="surrogateescape"):
        return
    path = lock_of(repository, ref)
    with suppress(OSError):
        lock = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            status = os.fstat(lock)
            content = os.read(lock, _MAX_BYTES)
        finally:
            os.close(lock)
        is_later = status.st_mtime >= os.fstat(descriptor).st_mtime - _SLACK
        is_own = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
        if is_own and is_later and (words[1] + b"\n").startswith(content):
            os.unlink(path)


def lock_of(repository: Repository, ref: str) -> str:
    """The file by which Git locks a branch."""
    return os.path.join(repository.place.common, f"{ref}.lock")


def problem(repository: Repository, ref: str) -> str:
    """What is said of a lock that is in the way; empty where there is none."""
    path = lock_of(repository, ref)
    if not os.path.lexists(path):
        return ""
    return f"{path} is there, so another Git moves it now, or was killed: then delete that file"
