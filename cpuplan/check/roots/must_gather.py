"""A must-gather of OpenShift: for each node an archive of its files, and outputs of commands.

They are made by openshift/must-gather, collection-scripts/gather_ppc_single_node.
"""

import json
import stat
from collections import deque
from collections.abc import Iterator
from typing import Any

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.files import TooLarge, Unreadable
from cpuplan.base.naming import is_subdomain
from cpuplan.base.roots.reader import Reader
from cpuplan.check.roots.limits import NESTED
from cpuplan.check.roots.overlay import OverlayReader, Stand, readable

#: A must-gather has `nodes/` in folders of its images, one or two below its top; looking for them
#: must not take long in a home folder.
_MAX_DEPTH = 4
_MAX_FOLDERS = 2000
#: Where nodes have been seen, a must-gather with more is not read: some of its nodes may be there.
_MAX_OF_GATHER = 20_000
_MAX_NAMES = 1_000_000
#: Folders that hold most of its files and no node's.
_OTHERS = frozenset({"namespaces", "cluster-scoped-resources", "host_service_logs", "audit_logs"})
_OUTPUTS = {"proc/cmdline": "proc_cmdline", "cpuplan/dmesg": "dmesg"}
_THREADS = "cpu_affinities.json"
_MAX_CPU = 1 << 16


def nodes(gather: Reader) -> dict[str, str]:
    """The folders of nodes with an archive, by the name of the node; of two, the first counts.

    Raises TooLarge where there are more folders than are looked at.
    """
    found: dict[str, str] = {}
    todo, visited, names = deque([("", 0)]), 0, 0
    while todo and (found or visited < _MAX_FOLDERS):
        path, depth = todo.popleft()
        entries = _entries(gather, path)
        visited += 1
        names += len(entries)
        if names > _MAX_NAMES or visited > _MAX_OF_GATHER:
            if not found:
                break
            raise TooLarge(f"it has more than {_MAX_OF_GATHER:,} folders, or {_MAX_NAMES:,} names")
        for name, is_folder in entries:
            below = f"{path}/{name}" if path else name
            if name == "nodes":
                for node, folder in _with_archive(gather, below):
                    found.setdefault(node, folder)
            elif is_folder and depth < _MAX_DEPTH and name not in _OTHERS and name[0] != ".":
                todo.append((below, depth + 1))
    return found


def reader_of(root: Reader, gather: Reader, folder: str) -> Reader:
    """The files of a node with what outputs stand for."""
    stands = {}
    for path, name in _OUTPUTS.items():
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
        rows: Any = json.loads(body or b"[]")
    except (ValueError, RecursionError):
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
