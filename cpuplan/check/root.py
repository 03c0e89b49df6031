"""The root file system of the node under test: a live host, a container's /host, or a copy that
somebody made.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from cpuplan.files import FLAGS, TooLarge, Unreadable, check_kind, read_open, unreadable

#: Of one file: the kernel's own have some kB, configurations that people write too.
MAX_FILE = 1024 * 1024
#: Names in one folder, and files below it: 8,192 CPUs have as many folders.
MAX_NAMES = 20_000
#: Links on the way to one file, as the kernel (MAXSYMLINKS).
_MAX_LINKS = 40
_PLACE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_ABSENT = (errno.ENOENT, errno.ENOTDIR)


class Root:
    """Reads files below one folder. Links are followed inside it only: `/etc/x` in a copy means the
    copy's `/etc/x`.

    What is not there is None or nothing. What is there and cannot be read is that too, and stands
    in `refused`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(os.path.realpath(folder))
        #: Why each file or folder is not read, by its path for people.
        self.refused: dict[str, str] = {}

    def shown(self, path: str) -> str:
        """How a file is named to people: by the path that no link leads to, so that the line shown
        is its own.
        """
        try:
            with self._place(path) as places:
                return str(self.folder.joinpath(*(name for name, _ in places)))
        except (OSError, ValueError, Unreadable):
            return str(self.folder / path)

    def read(self, path: str) -> str | None:
        """The text of a file; None where there is none that can be read."""
        try:
            with self._place(path) as places:
                check_kind(os.fstat(places[-1][1]))
                descriptor = os.open(places[-1][0], FLAGS | os.O_NOFOLLOW, dir_fd=places[-2][1])
                try:
                    return read_open(descriptor, MAX_FILE).decode("utf-8", "replace")
                finally:
                    os.close(descriptor)
        except (OSError, ValueError, Unreadable) as error:
            self.refuse(path, error)
            return None

    def names(self, path: str) -> list[str]:
        """The names of the entries of a folder, ascending; none where there is no such folder."""
        return [name for name, _ in self._entries(path)]

    def files(self, path: str) -> list[str]:
        """All below a folder that is no folder itself, links too, in the order in which Go's
        filepath.Walk comes by.
        """
        found: list[str] = []
        todo = [(path, True)]
        while todo:
            place, is_folder = todo.pop()
            if len(found) == MAX_NAMES:
                self.refuse(path, TooLarge(f"it has more than {MAX_NAMES:,} files"))
                return []
            if is_folder:
                todo += [
                    (f"{place}/{name}", below) for name, below in reversed(self._entries(place))
                ]
            else:
                found.append(place)
        return found

    def is_file(self, path: str) -> bool:
        """Whether there is something to read, or something else in its place."""
        try:
            with self._place(path) as places:
                return not stat.S_ISDIR(os.fstat(places[-1][1]).st_mode)
        except (OSError, ValueError, Unreadable) as error:
            self.refuse(path, error)
            return False

    def _entries(self, path: str) -> list[tuple[str, bool]]:
        """The names in a folder, ascending, each with whether it is a folder."""
        try:
            with self._place(path) as places:
                descriptor = os.open(
                    ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=places[-1][1]
                )
            try:
                with os.scandir(descriptor) as entries:
                    found = [
                        (each.name, each.is_dir(follow_symlinks=False))
                        for each in islice(entries, MAX_NAMES + 1)
                    ]
            finally:
                os.close(descriptor)
            if len(found) > MAX_NAMES:
                raise TooLarge(f"it has more than {MAX_NAMES:,} names")
            return sorted(found)
        except (OSError, ValueError, Unreadable) as error:
            self.refuse(path, error)
            return []

    def refuse(self, path: str, error: OSError | ValueError | Unreadable) -> None:
        """Note that something at `path` is not read, unless nothing is there."""
        refusal = error if isinstance(error, Unreadable) else unreadable(error)
        if refusal.errno not in _ABSENT:
            self.refused[str(self.folder / path)] = refusal.problem

    @contextmanager
    def _place(self, path: str) -> Iterator[list[tuple[str, int]]]:
        """Where a process with this root (chroot) comes to by `path`: the link-free way, as (name,
        descriptor).

        Nothing is opened but places (O_PATH), one name after the other, so that no change on the
        way leads out.
        """
        places = [("", os.open(self.folder, _PLACE))]
        todo = path.split("/")[::-1]
        links = 0
        try:
            while todo:
                part = todo.pop()
                if part in ("", "."):
                    continue
                if part == "..":
                    _leave(places, max(1, len(places) - 1))
                    continue
                descriptor = os.open(part, _PLACE, dir_fd=places[-1][1])
                places.append((part, descriptor))
                if stat.S_ISLNK(os.fstat(descriptor).st_mode):
                    links += 1
                    if links > _MAX_LINKS:
                        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                    target = os.readlink("", dir_fd=descriptor)
                    _leave(places, 1 if target.startswith("/") else len(places) - 1)
                    todo += target.split("/")[::-1]
            yield places
        finally:
            _leave(places, 0)


def _leave(places: list[tuple[str, int]], length: int) -> None:
    """Close all places but the first ones."""
    while len(places) > length:
        os.close(places.pop()[1])
