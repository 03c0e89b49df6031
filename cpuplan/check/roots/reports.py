"""Reports of nodes: snapshots, sosreports and must-gathers, with files that outputs stand for.

Names of outputs in a sosreport: sos/report/plugins/__init__.py, _mangle_command.
A must-gather is made by openshift/must-gather, collection-scripts/gather_ppc_single_node.
"""

import stat
from collections import deque
from collections.abc import Hashable, Iterator, Mapping
from typing import Any, NamedTuple

from cpuplan.base import nodetext
from cpuplan.base.cpuset import CpuSet
from cpuplan.base.files import TooLarge, Unreadable, check_size, is_plain
from cpuplan.base.foreign import ForeignError, read_json
from cpuplan.base.naming import is_subdomain
from cpuplan.base.roots.tree import Reader, Status, absent
from cpuplan.check.roots.limits import MAX_FILE, NESTED, limit_of


class Stand(NamedTuple):
    """The bytes of a file, None where only its name is known, and where the report has them."""

    source: str
    body: bytes | None
    mode: int = 0o644


class OverlayReader:
    """Reads a report, and where it lacks a file, what stands for it."""

    def __init__(self, reader: Reader, stands: Mapping[str, Stand]) -> None:
        self._reader = reader
        self._stands = stands
        self._names: dict[str, dict[str, bool]] = {}
        for path in stands:
            rest, is_folder = path, False
            while rest:
                rest, _, name = rest.rpartition("/")
                names = self._names.setdefault(rest, {})
                if names.get(name) == is_folder:
                    break
                names[name] = is_folder
                is_folder = True

    def read(self, path: str, limit: int = MAX_FILE) -> bytes:
        try:
            return self._reader.read(path, limit)
        except FileNotFoundError:
            body = self._stand(path).body
            if body is None:
                raise Unreadable("only its name was collected") from None
            check_size(len(body), limit)
            return body

    def entries(self, path: str) -> list[tuple[str, bool]]:
        more = self._names.get(path.strip("/"))
        if more is None:
            return self._reader.entries(path)
        try:
            return sorted({**more, **dict(self._reader.entries(path))}.items())
        except FileNotFoundError:
            return sorted(more.items())

    def identity(self, path: str) -> Hashable:
        try:
            return self._reader.identity(path)
        except FileNotFoundError:
            if path.strip("/") not in self._names:
                raise
            return path.strip("/")

    def status(self, path: str) -> Status:
        try:
            return self._reader.status(path)
        except FileNotFoundError:
            if path.strip("/") in self._names:
                return Status(stat.S_IFDIR | 0o755, 0)
            stand = self._stand(path)
            source = self._reader.status(stand.source)
            return Status(stat.S_IFREG | stand.mode, source.mtime)

    def link(self, path: str) -> str | None:
        try:
            return self._reader.link(path)
        except FileNotFoundError:
            return None

    def plain(self, path: str) -> str:
        try:
            return self._reader.plain(path)
        except FileNotFoundError:
            return self._stand(path).source

    def _stand(self, path: str) -> Stand:
        stand = self._stands.get(path.strip("/"))
        if stand is None:
            raise absent()
        return stand


def readable(reader: Reader, path: str) -> bytes | None:
    """The bytes of a file of a report; None if there is none that can be read."""
    try:
        return reader.read(path, limit_of(path))
    except (OSError, ValueError, Unreadable):
        return None


#: A must-gather has `nodes/` in folders of its images, one or two below its top; looking for them
#: must not take long in a home folder.
_MAX_DEPTH = 4
_MAX_FOLDERS = 2000
#: Where nodes have been seen, a must-gather with more is not read: some of its nodes may be there.
_MAX_OF_GATHER = 20_000
_MAX_NAMES = 1_000_000
#: Folders that hold most of its files and no node's.
_OTHERS = frozenset({"namespaces", "cluster-scoped-resources", "host_service_logs", "audit_logs"})
_GATHERED = {"proc/cmdline": "proc_cmdline", "cpuplan/dmesg": "dmesg"}
_THREADS = "cpu_affinities.json"
_MAX_CPU = 1 << 16


def nodes(gather: Reader) -> dict[str, str]:
    """The folders of nodes with an archive, by the name of the node; of two, the first counts.

    Raises TooLarge where there are more folders than are looked at.
    """
    folder_of_node: dict[str, str] = {}
    todo, visited, names = deque([("", 0)]), 0, 0
    while todo and (folder_of_node or visited < _MAX_FOLDERS):
        path, depth = todo.popleft()
        entries = _entries(gather, path)
        visited += 1
        names += len(entries)
        if names > _MAX_NAMES or visited > _MAX_OF_GATHER:
            if not folder_of_node:
                break
            raise TooLarge(f"it has more than {_MAX_OF_GATHER:,} folders, or {_MAX_NAMES:,} names")
        for name, is_folder in entries:
            below = f"{path}/{name}" if path else name
            if name == "nodes":
                for node, folder in _with_archive(gather, below):
                    folder_of_node.setdefault(node, folder)
            elif is_folder and depth < _MAX_DEPTH and name not in _OTHERS and name[0] != ".":
                todo.append((below, depth + 1))
    return folder_of_node


def of_must_gather(root: Reader, gather: Reader, folder: str) -> Reader:
    """The files of a node with what outputs stand for."""
    stands = {}
    for path, name in _GATHERED.items():
        body = readable(gather, f"{folder}/{name}")
        if body:
            stands[path] = Stand(name, body)
    stands |= dict(_threads(readable(gather, f"{folder}/{_THREADS}")))
    return OverlayReader(root, stands)


def _with_archive(gather: Reader, path: str) -> Iterator[tuple[str, str]]:
    for name, is_folder in _entries(gather, path):
        folder = f"{path}/{name}"
        if is_folder and is_subdomain(name) and _is_file(gather, f"{folder}/{NESTED}"):
            yield name, folder


def _is_file(gather: Reader, path: str) -> bool:
    try:
        return not stat.S_ISDIR(gather.status(path).mode)
    except (OSError, ValueError, Unreadable):
        return False


def _entries(gather: Reader, path: str) -> list[tuple[str, bool]]:
    try:
        return gather.entries(path)
    except (OSError, ValueError, Unreadable):
        return []


def _threads(body: bytes | None) -> Iterator[tuple[str, Stand]]:
    """`status` of each thread, with its name and affinity: all that is known of it."""
    try:
        rows: Any = read_json(body or b"[]")
    except ForeignError:
        return
    for row in rows if isinstance(rows, list) else []:
        process, thread, cpus = _number(row, "pid"), _number(row, "tid"), _cpus(row)
        if process and thread and cpus is not None:
            name = str(row.get("thread", "")).partition("\n")[0]
            text = f"Name:\t{name}\nTgid:\t{process}\nPid:\t{thread}\nCpus_allowed_list:\t{cpus}\n"
            stand = Stand(_THREADS, text.encode("utf-8", "replace"))
            yield f"proc/{process}/task/{thread}/status", stand
            if process == thread:
                yield f"proc/{process}/status", stand


def _number(row: Any, key: str) -> int:
    value = row.get(key) if isinstance(row, dict) else None
    return value if isinstance(value, int) and 0 < value < 1 << 32 else 0


def _cpus(row: Any) -> CpuSet | None:
    cpus = row.get("affinity") if isinstance(row, dict) else None
    if not isinstance(cpus, list):
        return None
    if all(isinstance(cpu, int) and 0 <= cpu < _MAX_CPU for cpu in cpus):
        return CpuSet(cpus)
    return None


#: Paths of executables, one in a line.
SNAPSHOT_PROGRAMS = "cpuplan/programs"


def of_snapshot(snapshot: Reader) -> Reader:
    """The snapshot with programs that it only has the names of: a runtime's handlers need some."""
    return OverlayReader(snapshot, dict(_named_programs(snapshot)))


def _named_programs(snapshot: Reader) -> Iterator[tuple[str, Stand]]:
    for path in nodetext.lines(
        (readable(snapshot, SNAPSHOT_PROGRAMS) or b"").decode("utf-8", "replace")
    ):
        if is_plain(path):
            yield path, Stand(SNAPSHOT_PROGRAMS, None, 0o755)


SOSREPORT_MARK = "sos_commands"
_SYSCTLS = f"{SOSREPORT_MARK}/kernel/sysctl_-a"
_PROCESSES = (f"{SOSREPORT_MARK}/process/ps_auxwwwm", f"{SOSREPORT_MARK}/process/ps_auxwww")
#: File -> outputs that say the same, the first that exists.
_OUTPUTS = {
    "cpuplan/dmesg": (f"{SOSREPORT_MARK}/kernel/dmesg", "var/log/dmesg"),
    "cpuplan/systemctl-show": (f"{SOSREPORT_MARK}/systemd/systemctl_show_service_--all",),
    "cpuplan/systemctl-list-units": (f"{SOSREPORT_MARK}/systemd/systemctl_list-units_--all",),
    "cpuplan/tuned-adm-verify": (f"{SOSREPORT_MARK}/tuned/tuned-adm_verify",),
    "etc/hostname": (
        f"{SOSREPORT_MARK}/host/hostname",
        f"{SOSREPORT_MARK}/general/hostname",
        "hostname",
    ),
}
#: Programs whose command lines decide what a node does.
_PROGRAMS = frozenset({"kubelet", "crio", "containerd", "irqbalance", "tuned"})


def of_sosreport(report: Reader) -> Reader:
    """The report with files that outputs stand for: sysctls, and command lines of processes."""
    stands = {}
    for path, sources in _OUTPUTS.items():
        for source in sources:
            body = readable(report, source)
            if body and path not in stands:
                stands[path] = Stand(source, body)
    stands |= dict(_sysctls(report))
    stands |= dict(_processes(report))
    return OverlayReader(report, stands)


def _sysctls(report: Reader) -> Iterator[tuple[str, Stand]]:
    """`kernel.sched_rt_runtime_us = -1`; a dot in the name of a device is written as a slash."""
    for line in nodetext.lines((readable(report, _SYSCTLS) or b"").decode("utf-8", "replace")):
        key, separator, value = line.partition(" = ")
        names = key.translate(str.maketrans("./", "/."))
        if separator and key.isprintable() and not {"", ".", ".."}.intersection(names.split("/")):
            yield f"proc/sys/{names}", Stand(_SYSCTLS, f"{value}\n".encode())


def _processes(report: Reader) -> Iterator[tuple[str, Stand]]:
    """Command lines, where the report has the process: it copies its `status` and `cgroup` only."""
    source = next((path for path in _PROCESSES if readable(report, path)), "")
    for line in nodetext.lines((readable(report, source) or b"").decode("utf-8", "replace")):
        fields = line.split(None, 10)
        if len(fields) < 11 or nodetext.natural(fields[1]) is None:
            continue
        words = fields[10].split()
        program = words[0].rpartition("/")[2]
        script = words[1].rpartition("/")[2] if len(words) > 1 else ""
        if not _PROGRAMS.isdisjoint((program, script)) and _has(report, f"proc/{fields[1]}/status"):
            text = "".join(f"{word}\0" for word in words)
            yield f"proc/{fields[1]}/cmdline", Stand(source, text.encode())


def _has(report: Reader, path: str) -> bool:
    try:
        report.status(path)
    except (OSError, ValueError, Unreadable):
        return False
    return True
