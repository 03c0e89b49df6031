"""The root file system of the node under test: a live host, a container's /host, or a copy."""

import errno
import os
import stat
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from enum import Enum
from pathlib import Path
from typing import NamedTuple, TypeVar

from cpuplan.base import nodetext
from cpuplan.base.files import TooLarge, Unreadable, unreadable
from cpuplan.base.naming import is_subdomain
from cpuplan.base.roots.tree import Meter, Reader, Status
from cpuplan.check.roots import mounted
from cpuplan.check.roots.limits import BUDGET, MAX_NAMES, limit_of
from cpuplan.check.roots.mounted import HostReader

#: What a snapshot says of itself: `key: value` in each line.
MANIFEST = "cpuplan/snapshot"
#: Last what the kernel says: in a container it is the name of the container.
_FILES = ("etc/hostname", "proc/sys/kernel/hostname")
_NO_NAMES = frozenset({"localhost", "localhost.localdomain"})


def names_of(read: Callable[[str], str | None], given: str = "") -> tuple[str, ...]:
    """The host names in the files of a root, without doubles; `given` is known from elsewhere.

    In lower case, as the kubelet registers its node (pkg/util/node/node.go, GetHostname).
    """
    stated = manifest(read(MANIFEST) or "").get("host", "")
    texts = [given, stated, *(read(path) or "" for path in _FILES)]
    names = (text.strip().lower().rstrip(".") for text in texts)
    return tuple(dict.fromkeys(name for name in names if is_subdomain(name) and _is_name(name)))


def manifest(text: str) -> dict[str, str]:
    """The keys of a snapshot's own file."""
    pairs = (line.partition(":") for line in nodetext.lines(text))
    return {key.strip(): value.strip() for key, separator, value in pairs if separator}


def nodes_of(hosts: Sequence[str], nodes: Iterable[str]) -> list[str]:
    """The nodes that a host may be, by its names: one of a whole name, else all of a short one.

    A node is often registered by its domain name, while the host has the short one, or vice versa.
    """
    known = sorted(set(nodes))
    for host in hosts:
        if host in known:
            return [host]
    for host in hosts:
        short = host.partition(".")[0]
        same = [
            node
            for node in known
            if node.partition(".")[0] == short and ("." not in host or "." not in node)
        ]
        if same:
            return same
    return []


def _is_name(name: str) -> bool:
    return name not in _NO_NAMES


#: What the script of `cpuplan snapshot` looked for, one path in a line.
PLACES = "cpuplan/places"
#: Programs that every system has: a copy with one is whole.
PROGRAMS = ("bin/sh", "usr/bin/sh", "usr/bin/env", "usr/lib/systemd/systemd")
#: Folders that every system with systemd has, also where nothing is in them.
_STANDARD = (
    "usr/local/bin",
    "etc/systemd/system",
    "etc/sysctl.d",
    "etc/tmpfiles.d",
    "etc/udev/rules.d",
)
#: Folders that people copy as a whole; of the others, those one below.
_WHOLE = frozenset({"boot", "etc", "run"})

Names = Callable[[str], list[str]]


def is_copied(path: str, names: Names, is_there: Callable[[str], bool]) -> bool:
    """Whether a copy has the part of the tree that a path is in: /etc/sysctl.d, /etc, /var/lib."""
    for folder in _STANDARD:
        if path.startswith(f"{folder}/"):
            return is_there(folder)
    parts = [part for part in path.split("/") if part]
    depth = 1 if parts and parts[0] in _WHOLE else 2
    return bool(parts) and bool(names("/".join(parts[:depth][: max(1, len(parts) - 1)])))


def is_collected(path: str, names: Names) -> bool:
    """Whether a report has anything of the folder of a path; it takes some of few folders."""
    return bool(names(path.rpartition("/")[0]))


def is_listed(path: str, places: str) -> bool:
    """Whether a path is one of the places of a snapshot, or below one."""
    return any(path == place or path.startswith(f"{place}/") for place in nodetext.lines(places))


#: What is not there, or went away while it was read: a task (ESRCH), a device or a control group
#: (ENODEV, ENXIO). The kernel's files answer the others where they have no value.
_ABSENT = (
    errno.ENOENT,
    errno.ENOTDIR,
    errno.ESRCH,
    errno.ENODEV,
    errno.ENXIO,
    errno.EINVAL,
    errno.ENODATA,
    errno.EOPNOTSUPP,
)

#: What the kernel says of files that are for others.
_DENIED = (errno.EACCES, errno.EPERM)

_T = TypeVar("_T")


class Spent(NamedTuple):
    """Where a limit of a whole root ended its reading, and which one."""

    path: str
    problem: str


class Kind(Enum):
    """Where the files of a root come from, as a phrase for messages."""

    LIVE = "the running host"
    PART = "a part of the running host"
    COPY = "a copy of a root file system"
    SNAPSHOT = "a snapshot of cpuplan"
    SOSREPORT = "a sosreport"
    MUST_GATHER = "a must-gather"


class Root:
    """Reads files below one folder; links stay inside: `/etc/x` in a copy is the copy's `/etc/x`.

    What does not exist is None or empty; so is what cannot be read, which `refused` has too. So is
    everything, once the root is `spent`.
    """

    def __init__(
        self,
        folder: Path,
        reader: Reader | None = None,
        kind: Kind | None = None,
        host: str = "",
        parts: Collection[str] | None = None,
    ) -> None:
        self.folder = Path(os.path.realpath(folder))
        #: Why a file or folder is not read, by its shown path.
        self.refused: dict[str, str] = {}
        #: Folders among them: what was seen there is a part of what is there.
        self.unlisted: dict[str, str] = {}
        #: Those that a part of a node has not got on purpose, and whether they are for other users.
        self.withheld: dict[str, bool] = {}
        #: None while a check may go on reading.
        self.spent: Spent | None = None
        self._meter = Meter(BUDGET)
        self._reader = reader or HostReader(self.folder)
        self.kind = kind or (Kind.LIVE if _is_live(self.folder) else Kind.COPY)
        self._parts = parts
        if self.kind is Kind.LIVE and parts is None:
            self._parts = mounted.parts(self.folder)
        if self._parts is not None:
            self.kind = Kind.PART
        self._host = host

    @property
    def asked(self) -> int:
        """How often something was asked for."""
        return self._meter.asked

    def host_names(self) -> tuple[str, ...]:
        """What the node calls itself, the most certain name first; none where nothing says it."""
        return names_of(self.read, self._host)

    def shown(self, path: str) -> str:
        """The path of a file without links, for messages, so that a line is that of the file."""
        try:
            return str(self.folder / self._reader.plain(path))
        except (OSError, ValueError, Unreadable):
            return str(self.folder / path)

    def read(self, path: str) -> str | None:
        """The text of a file; None if there is none that can be read."""
        data = self._ask(self._bytes, path)
        return None if data is None else data.decode("utf-8", "replace")

    def names(self, path: str) -> list[str]:
        """The names of the entries of a folder, ascending; none if there is no such folder."""
        return [name for name, _ in self.entries(path)]

    def entries(self, path: str) -> list[tuple[str, bool]]:
        """The same names, each with whether it is a folder and no link."""
        names = self._ask(self._reader.entries, path)
        place = str(self.folder / path)
        if names is None and place in self.refused and place not in self.withheld:
            self.unlisted[place] = self.refused[place]
        return names or []

    def identity(self, path: str) -> Hashable:
        """What tells a folder from all others, by whatever path it is reached; None for none.

        Whoever walks goes into each once: a mount may have a folder a second time.
        """
        return self._ask(self._reader.identity, path)

    def files(self, path: str) -> list[str]:
        """All files and links below a folder, in the order of Go's filepath.Walk."""
        files: list[str] = []
        todo = [(path, True)]
        seen: set[Hashable] = set()
        while todo:
            place, is_folder = todo.pop()
            if len(files) + len(seen) == MAX_NAMES:
                self.cut(path, f"it has more than {MAX_NAMES:,} files")
                return []
            if not is_folder:
                files.append(place)
            elif (identity := self.identity(place)) not in seen:
                seen.add(identity)
                entries = reversed(self.entries(place))
                todo += [(f"{place}/{name}", is_folder) for name, is_folder in entries]
        return files

    def is_file(self, path: str) -> bool:
        """Whether there is a file, or anything else that is not a folder."""
        status = self._status(path)
        return status is not None and not stat.S_ISDIR(status.mode)

    def mode(self, path: str) -> int | None:
        """The permissions of a file or folder, such as 0o755; None if there is none."""
        status = self._status(path)
        return None if status is None else stat.S_IMODE(status.mode)

    def mtime(self, path: str) -> float | None:
        """When a file or folder was changed, in seconds since 1970; None if there is none.

        The kernel's own files have the time of asking, or of copying them.
        """
        status = self._status(path)
        return None if status is None else status.mtime

    def link(self, path: str) -> str | None:
        """The target of a symbolic link, as written; None for anything else."""
        return self._ask(self._reader.link, path)

    def refuse(self, path: str, error: OSError | ValueError | Unreadable) -> None:
        """Note that something at `path` is not read, unless nothing is there."""
        refusal = error if isinstance(error, Unreadable) else unreadable(error)
        if refusal.errno in _ABSENT:
            return
        self.refused[str(self.folder / path)] = refusal.problem
        if self.kind is Kind.PART and refusal.errno in (*_DENIED, errno.ESTALE):
            self.withheld[str(self.folder / path)] = refusal.errno in _DENIED

    def cut(self, path: str, problem: str) -> None:
        """Note that not all below a folder is looked at."""
        self.refuse(path, TooLarge(problem))
        self.unlisted[str(self.folder / path)] = problem

    def is_left_out(self, path: str) -> bool:
        """Whether an agent has not got a file on purpose: it is not mounted, or is for others."""
        is_of_others = self.withheld.get(str(self.folder / path), False)
        return is_of_others or (self.kind is Kind.PART and not self.covers(path))

    @property
    def is_running(self) -> bool:
        """Whether it is the node itself, or a part of it, and no copy."""
        return self.kind in (Kind.LIVE, Kind.PART)

    def covers(self, path: str) -> bool:
        """Whether a file that is missing here is missing on the node.

        A copy with nothing below /var/lib says nothing of /var/lib/kubelet, and a report that has
        no file of a folder nothing of that folder.
        """
        if self.kind is Kind.LIVE:
            return True
        if self._parts is not None:
            return mounted.covers(self._parts, path)
        if self.kind is Kind.COPY:
            is_whole = any(map(self.is_file, PROGRAMS))
            return is_whole or is_copied(path, self.names, self._is_there)
        if self.kind is Kind.SNAPSHOT and self._manifest().get("user") == "0":
            places = self.read(PLACES)
            if places is not None:
                return is_listed(path, places)
            return is_copied(path, self.names, self._is_there)
        return is_collected(path, self.names)

    def _manifest(self) -> dict[str, str]:
        return manifest(self.read(MANIFEST) or "")

    def _is_there(self, path: str) -> bool:
        return self._status(path) is not None

    def _bytes(self, path: str) -> bytes:
        return self._reader.read(path, limit_of(path))

    def _status(self, path: str) -> Status | None:
        return self._ask(self._reader.status, path)

    def _ask(self, question: Callable[[str], _T], path: str) -> _T | None:
        """The answer of the reader; None for a refusal, which is noted, and once it is spent."""
        if self.spent:
            return None
        answer: _T | None
        try:
            answer = question(path)
        except (OSError, ValueError, Unreadable) as error:
            self.refuse(path, error)
            answer = None
        excess = self._meter.count(answer)
        if excess:
            problem = f"a check {excess.verb} at most {excess.limit:,} {excess.what} of one root"
            self.spent = Spent(str(self.folder / path), problem)
        return None if excess else answer


def _is_live(folder: Path) -> bool:
    """Whether the kernel's own /proc is in the folder: its root is always inode 1."""
    try:
        return os.lstat(folder / "proc").st_ino == 1
    except (OSError, ValueError):
        return False
