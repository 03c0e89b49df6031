"""The root file system of the node under test: a live host, a container's /host, or a copy."""

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
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_PLACE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_ABSENT = (errno.ENOENT, errno.ENOTDIR)


class Root:
    """Reads files below one folder; links stay inside: `/etc/x` in a copy is the copy's `/etc/x`.

    What does not exist is None or empty; so is what cannot be read, which `refused` has too.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(os.path.realpath(folder))
        #: Why a file or folder is not read, by its shown path.
        self.refused: dict[str, str] = {}

    def shown(self, path: str) -> str:
        """The path of a file without links, for messages, so that a line is that of the file."""
        try:
            with self._place(path) as places:
                return str(self.folder.joinpath(*(name for name, _ in places)))
        except (OSError, ValueError, Unreadable):
            return str(self.folder / path)

    def read(self, path: str) -> str | None:
        """The text of a file; None if there is none that can be read."""
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
        """The names of the entries of a folder, ascending; none if there is no such folder."""
        return [name for name, _ in self._entries(path)]

    def files(self, path: str) -> list[str]:
        """All files and links below a folder, in the order of Go's filepath.Walk."""
        files: list[str] = []
        todo = [(path, True)]
        while todo:
            place, is_folder = todo.pop()
            if len(files) == MAX_NAMES:
                self.refuse(path, TooLarge(f"it has more than {MAX_NAMES:,} files"))
                return []
            if is_folder:
                entries = reversed(self._entries(place))
                todo += [(f"{place}/{name}", is_folder) for name, is_folder in entries]
            else:
                files.append(place)
        return files

    def is_file(self, path: str) -> bool:
        """Whether there is a file, or anything else that is not a folder."""
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
                descriptor = os.open(".", _FOLDER, dir_fd=places[-1][1])
            try:
                with os.scandir(descriptor) as entries:
                    first = list(islice(entries, MAX_NAMES + 1))
                    names = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in first]
            finally:
                os.close(descriptor)
            if len(names) > MAX_NAMES:
                raise TooLarge(f"it has more than {MAX_NAMES:,} names")
            return sorted(names)
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
        """The link-free way of a process with this root (chroot) to `path`, as (name, descriptor).

        Only places are opened (O_PATH), name by name, so that no change on the way leads out.
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
    """Close all places except the first ones."""
    while len(places) > length:
        os.close(places.pop()[1])
