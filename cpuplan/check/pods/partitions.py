"""Partitions of cpusets (version 2): CPUs that a control group keeps for itself.

What the kernel makes of one shows only where it is read: `cpuset.cpus.partition` says why a
partition is invalid, and `cpuset.cpus.isolated` of the root has what all of them isolate, with what
has leaked (kernel/cgroup/cpuset.c).
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cpuplan.base.cpuset import EMPTY, CpuSet, cpus_text, union
from cpuplan.check.pods.names import container_of
from cpuplan.check.pods.tree import Tree, above
from cpuplan.check.threads.task import cpu_list

FILE = "cpuset.cpus.partition"
_VALID = ("root", "isolated")
_MEMBER = ("", "member")


class Partition(NamedTuple):
    """A control group that is a partition, or was meant to be one."""

    path: str
    #: `isolated`, `root`, or with the kernel's reason `isolated invalid (...)`.
    state: str
    cpus: CpuSet

    @property
    def is_valid(self) -> bool:
        """Whether it has its CPUs."""
        return self.state in _VALID


class Trouble(NamedTuple):
    """CPUs that are kept from others; `cpus` may be empty, `path` is the evidence."""

    problem: str
    path: str
    cpus: CpuSet
    #: The kernel keeps them until the next boot.
    is_leak: bool = False


def partitions(tree: Tree) -> list[Partition]:
    """All partitions of a node, by path."""
    found = []
    for path in sorted(tree.groups):
        state = tree.read(path, FILE) if path else ""
        if state not in _MEMBER:
            found.append(Partition(path, state, _cpus(tree, path, is_valid=state in _VALID)))
    return found


def _cpus(tree: Tree, path: str, *, is_valid: bool) -> CpuSet:
    """A partition of Linux 6.7 says its CPUs, one before has those in force; else the wish."""
    if is_valid:
        remote = cpu_list(tree.read(path, "cpuset.cpus.exclusive.effective"))
        return remote or tree.effective(path) or tree.cpus(path)
    return cpu_list(tree.read(path, "cpuset.cpus.exclusive")) or tree.cpus(path)


def troubles(
    tree: Tree, found: Sequence[Partition], planned: str, online: CpuSet, booted: CpuSet
) -> Iterator[Trouble]:
    """Partitions of others, invalid ones, and CPUs that are isolated or exclusive for nobody.

    The `planned` one is its own check's. `booted` are isolated by boot arguments.
    """
    of_others = [each for each in found if each.path != planned]
    for each in of_others:
        folder = f"{tree.folder(each.path)}/{FILE}"
        if not each.is_valid:
            problem = f"the partition {each.path} of {cpus_text(each.cpus)} is {each.state}"
            yield Trouble(problem, folder, EMPTY)
        elif not _is_of_container(each.path):
            problem = f"{each.path} is a partition ({each.state}) of {cpus_text(each.cpus)}"
            yield Trouble(problem, folder, each.cpus)
    owned = union(each.cpus for each in found if each.is_valid)
    yield from _leaks(tree, owned, online, booted)
    yield from _stale(tree, found)


def _is_of_container(path: str) -> bool:
    """Whether a container runtime makes partitions there: for a container, or in it."""
    return any(container_of(each) for each in (path, *above(path)))


def _leaks(tree: Tree, owned: CpuSet, online: CpuSet, booted: CpuSet) -> Iterator[Trouble]:
    """CPUs that the root has lost without a partition that has them."""
    isolated = cpu_list(tree.read("", "cpuset.cpus.isolated")) - booted - owned
    effective = tree.effective("")
    missing = EMPTY if effective is None else online - effective - owned - booted
    if isolated:
        problem = f"{cpus_text(isolated)} are isolated, and no partition has them"
        yield Trouble(problem, f"{tree.folder('')}/cpuset.cpus.isolated", isolated, is_leak=True)
    if missing - isolated:
        problem = f"the control groups have lost {cpus_text(missing)} to a partition out of sight"
        yield Trouble(problem, f"{tree.folder('')}/cpuset.cpus.effective", missing, is_leak=True)


def _stale(tree: Tree, found: Sequence[Partition]) -> Iterator[Trouble]:
    """CPUs that a control group keeps exclusive for no partition in it: the topmost of each way."""
    used: dict[str, CpuSet] = {}
    for each in found:
        for path in (each.path, *above(each.path)):
            used[path] = used.get(path, EMPTY) | each.cpus
    seen: set[str] = set()
    for path in sorted(tree.groups):
        if not seen.isdisjoint(above(path)):
            continue
        kept = cpu_list(tree.read(path, "cpuset.cpus.exclusive")) if path else EMPTY
        rest = kept - used.get(path, EMPTY)
        if rest:
            seen.add(path)
            problem = f"{path} keeps {cpus_text(rest)} exclusive, and no partition has them"
            yield Trouble(problem, f"{tree.folder(path)}/cpuset.cpus.exclusive", EMPTY)
