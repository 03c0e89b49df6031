"""Containers whose CPUs are not those that the kubelet's state file gives them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from cpuplan.base.cpuset import EMPTY, CpuSet, cpus_text, union
from cpuplan.base.text import at_most, counted, plural
from cpuplan.check.pods.pairing import Pair
from cpuplan.check.pods.running import Running
from cpuplan.check.pods.statefile import Assigned
from cpuplan.check.pods.tree import Tree, above

#: Names in a sentence.
FEW = 3


class Misplaced(NamedTuple):
    """What is wrong with one container, or with several in the same way; `path` is the evidence."""

    who: str
    found: str
    wanted: str
    path: str


class Lost(NamedTuple):
    """CPUs that no container can have now, for a reason that is reported by itself."""

    online: CpuSet
    partitioned: CpuSet


def exclusive(tree: Tree, pairs: Iterable[Pair], lost: Lost) -> Iterator[Misplaced]:
    """Containers with exclusive CPUs that have others, or threads that may run on others."""
    for pair in pairs:
        one = pair.running
        path = f"{tree.folder(one.container.path)}/cpuset.cpus"
        if one.cpus != pair.wanted:
            yield _misplaced(pair, one.cpus, path)
            continue
        missing = _missing(tree, pair, lost)
        if missing:
            yield _misplaced(pair, pair.wanted - missing, path)
            continue
        strays = [task for task in one.tasks if not task.allowed & lost.online <= pair.wanted]
        if strays:
            who = f"{counted(len(strays), 'thread')} of {pair.described}"
            found = union(task.allowed & lost.online for task in strays)
            where = f"proc/{strays[0].pid}/task/{strays[0].tid}/status"
            yield Misplaced(who, cpus_text(found), cpus_text(pair.wanted), where)


def _misplaced(pair: Pair, found: CpuSet, path: str) -> Misplaced:
    return Misplaced(pair.described, _shown(found), cpus_text(pair.wanted), path)


def _shown(cpus: CpuSet) -> str:
    return cpus_text(cpus) if cpus else "those of its pod"


def _missing(tree: Tree, pair: Pair, lost: Lost) -> CpuSet:
    """CPUs of a container that are not in force, and no limit above it says why."""
    one = pair.running
    if one.effective is None:
        return CpuSet()
    missing = pair.wanted & lost.online - one.effective - lost.partitioned
    for path in above(one.container.path):
        limit = tree.cpus(path)
        missing = missing & limit if limit else missing
    return missing


def gone(state: Assigned, pods: Set[str], path: str) -> Iterator[Misplaced]:
    """Entries of pods that have no control group any more."""
    for pod in sorted(state.entries.keys() - pods):
        entries = state.entries[pod]
        who = f"{_containers(sorted(entries))} of pod {pod}"
        yield Misplaced(who, "no control group", cpus_text(union(entries.values())), path)


def pooled(
    tree: Tree, containers: Sequence[Running], wanted: CpuSet, pinned: CpuSet, lost: Lost
) -> Iterator[Misplaced]:
    """Containers without exclusive CPUs that have others than the shared pool of the state file.

    Pods of the platform may be `pinned` to CPUs by their runtime.
    """
    found: dict[CpuSet, list[Running]] = {}
    for one in containers:
        cpus = one.cpus & lost.online
        if not one.cpus or cpus in (wanted, pinned):
            cpus = union(task.allowed & lost.online for task in one.tasks)
            # One without a cpuset has that of its pod; without threads, it may be a sandbox.
            free = one.effective if one.tasks and not one.cpus else None
            cpus = cpus | ((free or EMPTY) & lost.online)
            if cpus <= wanted or cpus <= pinned:
                continue
        found.setdefault(cpus, []).append(one)
    for cpus, ones in found.items():
        path = f"{tree.folder(ones[0].container.path)}/cpuset.cpus"
        names = [f"{one.name} {one.container.short}".strip() for one in ones]
        yield Misplaced(_containers(names), cpus_text(cpus), cpus_text(wanted), path)


def _containers(names: Sequence[str]) -> str:
    """`container a`, `containers a, b, c and 4 more`."""
    return f"{plural('container', len(names))} {at_most(names, FEW)}"


def by_pod(containers: Iterable[Running]) -> Mapping[str, list[Running]]:
    """The containers of each pod, by its UID."""
    pods: dict[str, list[Running]] = {}
    for one in containers:
        pods.setdefault(one.container.pod, []).append(one)
    return pods
