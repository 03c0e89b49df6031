"""Siblings and sockets from counts and the CPUs of NUMA nodes, by the kernel's numbering.

Linux numbers CPUs in the order of the firmware's table (ACPI MADT, device tree), and firmwares have
few habits. What follows from counts alone needs none of them; else a habit must fit the NUMA lists,
and no other one may fit as well.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from cpuplan.base.cpuset import CpuSet

_ADJACENT = "the threads of a core have neighbouring numbers"
_SEPARATE = "the first threads of all cores are numbered before the second ones"
_SEPARATE_BY_SOCKET = (
    "in each socket, the first threads of all cores are numbered before the second ones"
)


class Counts(NamedTuple):
    """What is known: counts of at least 1, and the NUMA nodes that have CPUs, by id."""

    architecture: str
    online: CpuSet
    threads_per_core: int
    cores_per_socket: int
    sockets: int
    numa_nodes: dict[int, CpuSet]


class Groups(NamedTuple):
    """Siblings ascending by lowest CPU, sockets by CPU, and the assumptions made, as sentences."""

    siblings: tuple[CpuSet, ...]
    sockets: dict[int, int]
    rules: tuple[str, ...]


class UntoldError(Exception):
    """The counts and NUMA nodes leave open what `what` names."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


def groups(counts: Counts) -> Groups:
    """The siblings and sockets of `counts`. Raises UntoldError where others are possible too."""
    sockets, socket_rules = _sockets(counts)
    siblings, sibling_rules = _siblings(counts, sockets)
    numbers = {cpu: number for number, cpus in enumerate(sockets) for cpu in cpus}
    return Groups(siblings, numbers, (*socket_rules, *sibling_rules))


def _whole(counts: Counts) -> bool:
    """Whether all cores and sockets are alike, with no thread offline."""
    return counts.threads_per_core * counts.cores_per_socket * counts.sockets == len(counts.online)


def _sockets(counts: Counts) -> tuple[list[CpuSet], list[str]]:
    """The sockets by lowest CPU, which is how lscpu numbers them, and the assumptions made."""
    if counts.sockets == 1:
        return [counts.online], []
    if counts.sockets == len(counts.online):
        return [CpuSet((cpu,)) for cpu in counts.online], []
    nodes = list(counts.numa_nodes.values())
    per_socket, rest = divmod(len(nodes), counts.sockets)
    if rest or not per_socket:
        raise UntoldError("sockets")
    if per_socket == 1:
        sockets, rule = nodes, "each NUMA node is one socket"
    elif all(nodes[cpu % len(nodes)] >= CpuSet((cpu,)) for cpu in counts.online):
        # Dell's default order with sub-NUMA clustering: socket after socket gets its first node,
        # then its second.
        sockets = [_union(nodes[number :: counts.sockets]) for number in range(counts.sockets)]
        rule = "NUMA nodes are assigned to the sockets in turn, as CPUs are to NUMA nodes"
    else:
        sockets = [
            _union(nodes[start : start + per_socket]) for start in range(0, len(nodes), per_socket)
        ]
        rule = f"each {per_socket} NUMA nodes in a row are one socket"
    most = counts.cores_per_socket * counts.threads_per_core
    if max(map(len, sockets)) > most or sum(map(len, sockets)) != len(counts.online):
        raise UntoldError("sockets")
    return sorted(sockets, key=lambda cpus: cpus.first), [rule]


def _union(nodes: list[CpuSet]) -> CpuSet:
    return CpuSet(cpu for cpus in nodes for cpu in cpus)


def _siblings(counts: Counts, sockets: list[CpuSet]) -> tuple[tuple[CpuSet, ...], list[str]]:
    """The cores.

    Where all CPUs are in one NUMA node, x86 may have either numbering: servers the one, guests the
    other.
    """
    if counts.threads_per_core == 1:
        return tuple(CpuSet((cpu,)) for cpu in counts.online), []
    if not _whole(counts):
        raise UntoldError("siblings")
    if counts.cores_per_socket == 1:
        return tuple(sockets), []
    fitting = []
    for rule, propose in _HABITS.get(counts.architecture, _OTHER_HABITS).items():
        cores = list(propose(counts, sockets))
        if _fit(cores, counts, sockets):
            fitting.append((tuple(cores), rule))
    # Two habits that fit several NUMA nodes: each node then has runs of CPUs a whole number of
    # cores apart, and there is no reason for that but the second threads.
    if not fitting or (len(fitting) > 1 and len(counts.numa_nodes) < 2):
        raise UntoldError("siblings")
    return fitting[0][0], [fitting[0][1]]


def _fit(cores: list[CpuSet], counts: Counts, sockets: list[CpuSet]) -> bool:
    """Whether every CPU is in one core, and every core in one NUMA node and socket."""
    nodes = list(counts.numa_nodes.values()) or [counts.online]
    for core in cores:
        if len(core) != counts.threads_per_core or not core <= counts.online:
            return False
        if not _is_within(core, nodes) or not _is_within(core, sockets):
            return False
    return sum(map(len, cores)) == len(counts.online)


def _is_within(core: CpuSet, groups: list[CpuSet]) -> bool:
    return any(core <= group for group in groups)


def _separate(counts: Counts, _: list[CpuSet]) -> Iterator[CpuSet]:
    cores = counts.cores_per_socket * counts.sockets
    for first in range(cores):
        yield CpuSet(range(first, cores * counts.threads_per_core, cores))


def _separate_by_socket(counts: Counts, sockets: list[CpuSet]) -> Iterator[CpuSet]:
    for cpus in sockets:
        members = list(cpus)
        for first in range(counts.cores_per_socket):
            yield CpuSet(members[first :: counts.cores_per_socket])


def _adjacent(counts: Counts, _: list[CpuSet]) -> Iterator[CpuSet]:
    threads = counts.threads_per_core
    for first in sorted({cpu - cpu % threads for cpu in counts.online}):
        yield CpuSet(range(first, first + threads))


_Habits = dict[str, Callable[[Counts, list[CpuSet]], Iterator[CpuSet]]]
#: The habits of an architecture's machines: x86 servers or guests, Arm servers (ThunderX2), POWER
#: and s390.
_HABITS: dict[str, _Habits] = {
    "x86_64": {_SEPARATE: _separate, _ADJACENT: _adjacent},
    "aarch64": {_SEPARATE_BY_SOCKET: _separate_by_socket},
    "": {  # unknown
        _SEPARATE: _separate,
        _ADJACENT: _adjacent,
        _SEPARATE_BY_SOCKET: _separate_by_socket,
    },
}
_OTHER_HABITS: _Habits = {_ADJACENT: _adjacent}
