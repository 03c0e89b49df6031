"""The host as a container has it: the folders that are mounted, and control groups by its names.

A reader of /proc/<pid>/cgroup sees each path from the root of its own cgroup namespace
(cgroup_namespaces(7)), also in the host's /proc: `/../../../system.slice/sshd.service`. Containers
have such a namespace where the host has version 2, unless they are privileged.
"""

import os
import posixpath
import re
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from cpuplan.base.files import Unreadable
from cpuplan.base.roots.folder import FolderReader
from cpuplan.check.roots.limits import LIMITS, MAX_FILE

_GROUPS = Path("/sys/fs/cgroup")
_FILE = re.compile(r"proc/[0-9]+/(task/[0-9]+/)?cgroup")
#: The line of version 2.
_LINE = re.compile(r"^0::(/.*)$", re.MULTILINE)
_UP = re.compile(r"(/\.\.)*")
#: Control groups that are looked at for the container's own.
_MOST = 20_000


class HostReader(FolderReader):
    """A folder in which /proc may be the host's; paths of control groups begin at its top."""

    #: The container's own control groups, as it sees them.
    own_groups = _GROUPS

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, LIMITS)

    def read(self, path: str, limit: int = MAX_FILE) -> bytes:
        data = super().read(path, limit)
        if not _FILE.fullmatch(path) or self._top_of_own == "/":
            return data
        if not self._top_of_own:
            raise Unreadable("it is relative to the reader's own control group, which is not found")
        text = data.decode(errors="surrogateescape")
        return _LINE.sub(self._from_top, text).encode(errors="surrogateescape")

    def _from_top(self, line: re.Match[str]) -> str:
        # A process in the namespace's own root is `/`; everything is relative to that.
        return f"0::{posixpath.normpath(f'{self._top_of_own}/{line[1]}')}"

    @cached_property
    def _top_of_own(self) -> str:
        """The control group that is `/` to this process; empty if it is not found.

        The first process shows how many are above it: it is in none of them, or in the top one.
        """
        try:
            first = _LINE.search(super().read("proc/1/cgroup", MAX_FILE).decode(errors="replace"))
            above = _UP.match(first[1]) if first else None
            depth = above[0].count("/..") if above else 0
            return self._named(depth) if depth else "/"
        except (FileNotFoundError, NotADirectoryError):
            return "/"  # a copy with some processes only
        except (OSError, Unreadable):
            return ""

    def _named(self, depth: int) -> str:
        """The group `depth` below the top that has the inode of the top of our own view, or ""."""
        top = self._path / _GROUPS.relative_to("/")
        wanted = os.stat(self.own_groups).st_ino
        level = [top]
        for _ in range(depth):
            level = [group for folder in level for group in _groups(folder)]
            if len(level) > _MOST:
                return ""
        groups = (group for group in level if os.lstat(group).st_ino == wanted)
        own = next(groups, None)
        return f"/{own.relative_to(top).as_posix()}" if own else ""


def _groups(folder: Path) -> list[Path]:
    """The control groups in one; none if it has gone meanwhile."""
    try:
        with os.scandir(folder) as entries:
            return [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return []


_MOUNTS = Path("/proc/self/mountinfo")
_ESCAPE = re.compile(r"\\([0-7]{3})")
#: In a line of mountinfo (proc(5)).
_MOUNT_POINT = 4


def parts(root: Path, mounts: Path = _MOUNTS) -> frozenset[str] | None:
    """The mounts below a folder that is none itself, as paths below it; None for a whole root.

    What the runtime makes to mount something on it, such as `/host`, has nothing of the node.
    """
    try:
        points = set(_points(mounts.read_text(encoding="utf-8", errors="surrogateescape")))
    except OSError:
        return None
    if str(root) in {*points, "/"}:
        return None
    start = f"{root}/"
    return frozenset(point.removeprefix(start) for point in points if point.startswith(start))


def _points(text: str) -> Iterable[str]:
    for line in text.splitlines():
        fields = line.split(" ")
        if len(fields) > _MOUNT_POINT:
            yield _ESCAPE.sub(lambda code: chr(int(code[1], 8)), fields[_MOUNT_POINT])


def covers(mounted: Iterable[str], path: str) -> bool:
    """Whether a path is one of the mounts, or below one."""
    return any(f"{path}/".startswith(f"{part}/") for part in mounted)
