"""Folders of this user's own: the cache, which nobody else wrote, and those for the time of a run.

Whoever can write a file in the cache could say that a project is valid. So each file begins with a
digest that nobody makes without a key (HMAC-SHA256), and nothing of it is read before this fits.
The key is the user's own and lies elsewhere, in the folder for states, so that a cache folder that
came from another machine, or from another job, holds nothing. A folder is not used where others may
write it or a folder above it, where a link leads to it, or where it is in the project's repository:
whoever commits a file there would be believed.

A folder for a run is held by a flock(2), which ends with the last process that has it: that of the
run, and the programs that it started and gave it to. So one that nobody holds is left over.
"""

import fcntl
import hmac
import os
import re
import stat
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from cpuplan.base import files
from cpuplan.base.files import FLAGS, Unreadable, read_open

#: In hexadecimal digits.
_DIGEST = 64
_KEY = 32
#: Of the machine's id, with a line end.
_MACHINE_ID, _MOST_OF_ID = "/etc/machine-id", 64


class NotUsedError(Exception):
    """Why a folder is not used, in words that follow its name; none where it is just not there."""


def cache_folder(project: Path | None = None) -> Path | None:
    """The folder of cpuplan in the user's cache, for a project; None where it is not used."""
    place = place_of_user()
    try:
        if place is not None:
            _check_with_key(place, project)
    except NotUsedError:
        return None
    return place


def place_of_user() -> Path | None:
    """Where that folder is, whether it is used or not; None without a home folder."""
    return _own_folder("XDG_CACHE_HOME", ".cache")


def is_of_cache(path: str) -> bool:
    """Whether an absolute path is that of what is kept here, or of what its key is made of."""
    folder, key = place_of_user(), _key_place()
    return path in (_MACHINE_ID, str(key)) or path.startswith(f"{folder}/") or path == str(folder)


def refusal(project: Path | None = None) -> str:
    """Why the folder is not used for a project, where somebody should know; "" otherwise."""
    place = place_of_user()
    try:
        if place is not None:
            _check_with_key(place, project)
    except NotUsedError as error:
        return str(error)
    return ""


def _own_folder(variable: str, usual: str) -> Path | None:
    given = os.environ.get(variable, "")
    home = Path(given) if os.path.isabs(given) else Path(os.path.expanduser("~"), usual)
    return home / "cpuplan" if home.is_absolute() else None


def is_own(path: Path, *, kind: int = stat.S_IFREG) -> bool:
    """Whether a file, or another `kind`, is the user's, and nobody else may write it; no link."""
    try:
        return _is_own(os.lstat(path), kind)
    except OSError:
        return False


def _is_own(status: os.stat_result, kind: int = stat.S_IFREG) -> bool:
    is_closed = not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return stat.S_IFMT(status.st_mode) == kind and status.st_uid == os.geteuid() and is_closed


def check(place: Path, project: Path | None = None) -> None:
    """Raise NotUsedError for a folder that somebody else may have written, or may yet."""
    if project is not None and _is_in_repository(place, os.path.realpath(project)):
        raise NotUsedError("it is in the project's repository, where a commit brings files")
    _check_above(place)
    if os.path.lexists(place) and not is_own(place, kind=stat.S_IFDIR):
        raise NotUsedError("it is no folder of this user that nobody else can write")


def _is_in_repository(place: Path, project: str) -> bool:
    return _is_inside(place, files.find_top(project) or project)


def _check_above(place: Path) -> None:
    """Raise NotUsedError where others could put another folder in the place of one above."""
    for above in reversed(place.parents):
        try:
            status = os.lstat(above)
        except FileNotFoundError:
            return  # it is made for this user only
        except (OSError, ValueError):
            raise NotUsedError from None
        if stat.S_ISLNK(status.st_mode) and status.st_uid == 0:
            # A link of the system, such as /home.
            _check_above(Path(os.path.realpath(above), "-"))
        else:
            _check_folder(above, status)


def _check_folder(above: Path, status: os.stat_result) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise NotUsedError(f"{above} is a link")
    if not stat.S_ISDIR(status.st_mode):
        raise NotUsedError  # such as /dev/null, by those who want no cache
    if status.st_uid not in (0, os.geteuid()):
        raise NotUsedError(f"{above} belongs to another user")
    # In a folder such as /tmp nobody can rename what is another's.
    is_guarded = bool(status.st_mode & stat.S_ISVTX)
    is_open = status.st_mode & stat.S_IWOTH
    is_open = is_open or (status.st_mode & stat.S_IWGRP and not _is_private(status.st_gid))
    if is_open and not is_guarded:
        raise NotUsedError(f"others may write {above}")


def _is_private(group: int) -> bool:
    """Whether a group is the user's own, as many systems have it: nobody else is in it."""
    import grp
    import pwd

    try:
        name, about = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(group)
    except KeyError:
        return False
    return about.gr_name == name and set(about.gr_mem) <= {name}


def _is_inside(place: Path, top: str) -> bool:
    real = os.path.realpath(place)
    return real == top or real.startswith(top.rstrip(os.sep) + os.sep)


def _key_place() -> Path | None:
    own = _own_folder("XDG_STATE_HOME", ".local/state")
    return own / "cache-key" if own else None


def _check_with_key(place: Path, project: Path | None) -> None:
    """Raise NotUsedError for a folder that is not used, or whose key is not."""
    check(place, project)
    key = _key_place()
    if key is None:
        raise NotUsedError
    try:
        check(key.parent, project)
    except NotUsedError as error:
        words = f"its key is in {key.parent}: {error}" if str(error) else ""
        raise NotUsedError(words) from error
    if _is_inside(key, os.path.realpath(place)):
        raise NotUsedError(f"its key would be in it, as {key}")
    if _secret() is None:
        is_there = os.path.lexists(key)
        raise NotUsedError(f"its key {key} is not of this user alone" if is_there else "")


def _secret() -> bytes | None:
    """What digests are made with: the key, for this user on this machine; None without a key."""
    place = _key_place()
    key = (_read_key(place) or _make_key(place)) if place else None
    if key is None:
        return None
    about = b"cpuplan cache 1\0%d\0%s" % (os.geteuid(), _machine())
    return hmac.digest(key, about, "sha256")


def _read_key(place: Path) -> bytes | None:
    try:
        descriptor = os.open(place, FLAGS | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        is_secret = _is_own(status) and not status.st_mode & 0o077
        key = os.read(descriptor, _KEY + 1) if is_secret else b""
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return key if len(key) == _KEY else None


def _make_key(place: Path) -> bytes | None:
    """Make a key, unless another run was first; its file is there with all of it, or not at all."""
    import secrets  # once for each user

    draft = f"{place}.{os.getpid()}-{threading.get_ident()}"
    try:
        os.makedirs(place.parent, mode=0o700, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(draft, flags, 0o600), "wb") as file:
            file.write(secrets.token_bytes(_KEY))
        try:
            os.link(draft, place)
        finally:
            os.unlink(draft)
    except OSError:
        pass  # also where another run has made one
    return _read_key(place)


def _machine() -> bytes:
    try:
        descriptor = os.open(_MACHINE_ID, FLAGS)
    except OSError:
        return b""
    try:
        return os.read(descriptor, _MOST_OF_ID)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


class Sealed:
    """A folder of files that each have some names, and a digest over these and what they say."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: bytes | None = None

    def __reduce__(self) -> "tuple[type[Sealed], tuple[Path]]":
        return Sealed, (self._folder,)  # without the key: whoever gets this must have its file

    @property
    def _key(self) -> bytes | None:
        if self._made is None:
            self._made = _secret()
        return self._made

    @property
    def is_usable(self) -> bool:
        """Whether nobody else can write the folder, and there is a key."""
        try:
            check(self._folder)
        except NotUsedError:
            return False
        return self._key is not None

    def read(self, name: str, limit: int) -> bytes | None:
        """What was written by a name; None where there is nothing, or nothing to believe."""
        data = _read(self._folder / name, limit) if self._key else None
        if not data or self._key is None:
            return None
        digest, body = data[:_DIGEST], memoryview(data)[_DIGEST:]
        if not hmac.compare_digest(_sealed(self._key, body), digest):
            return None
        names, _, content = data[_DIGEST:].partition(b"\n")
        return content if name.encode() in names.split() else None

    def write(self, names: Sequence[str], content: bytes) -> bool:
        """Write a file with these names, at once; False where that is not possible."""
        if not names or self._key is None:
            return False
        first, *others = (self._folder / name for name in names)
        body = f" {' '.join(names)}\n".encode() + content
        return _write(first, _sealed(self._key, body) + body, *others)


def _sealed(key: bytes, body: bytes | memoryview) -> bytes:
    return hmac.digest(key, body, "sha256").hex().encode()


def _read(path: Path, limit: int) -> bytes | None:
    """The bytes of one's own file; None where there is none, or none to believe."""
    try:
        descriptor = os.open(path, FLAGS | os.O_NOFOLLOW)
    except (OSError, ValueError):
        return None
    try:
        return read_open(descriptor, limit) if _is_own(os.fstat(descriptor)) else None
    except (OSError, Unreadable):
        return None
    finally:
        os.close(descriptor)


def _write(path: Path, data: bytes, *others: Path) -> bool:
    """Write a file at once, whoever else does too, also by `others` names in the same folder."""
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


_PREFIX = "cpuplan-run-"
_NAME = re.compile(re.escape(_PREFIX) + r"[a-z0-9_]{8}")
_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Held(NamedTuple):
    """A folder that only this user may enter, and the open file that holds it."""

    path: Path
    descriptor: int


@contextmanager
def temporary_folder() -> Iterator[Held]:
    """A new folder, which is removed at the end. Raises OSError."""
    remove_left_over()
    held = _make()
    try:
        yield held
    finally:
        import shutil

        shutil.rmtree(held.path, ignore_errors=True)
        os.close(held.descriptor)


def _make() -> Held:
    """A folder that is held. Until it is, another run may take it for left over: then once more."""
    import tempfile

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
    import tempfile

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
            import shutil

            shutil.rmtree(path)
    finally:
        os.close(descriptor)


def _is_at(path: str, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.lstat(path), status)
    except FileNotFoundError:
        return False
