"""What the steps about pods read of a node, once for all of them."""

from collections.abc import Mapping
from typing import NamedTuple

from cpuplan.base.cpuset import EMPTY, CpuSet
from cpuplan.check.pods.cgroups import Partition, Tree, partitions
from cpuplan.check.pods.container_cpus import (
    Assigned,
    Mixed,
    Pair,
    Planned,
    Running,
    assigned,
    by_pod,
    mixed,
    pairs,
    running,
)
from cpuplan.check.subject import Subject
from cpuplan.check.threads.tasks import cpu_list, online, threads
from cpuplan.facts.settings.crio import INFRA_CTR_CPUSET, SHARED_CPUSET
from cpuplan.facts.settings.row import Row

_KEY = "pods"


class View(NamedTuple):
    """Control groups, containers, the kubelet's state, and which of its entries are whose."""

    tree: Tree
    online: CpuSet
    partitions: tuple[Partition, ...]
    state: Assigned
    containers: tuple[Running, ...]
    #: Containers with exclusive CPUs.
    pairs: tuple[Pair, ...]
    #: What CRI-O told containers, by the path of their control group.
    mixed: Mapping[str, Mixed]


def view(subject: Subject) -> View:
    """The node's control groups and containers."""
    if _KEY not in subject.cache:
        subject.cache[_KEY] = _view(subject)
    made: View = subject.cache[_KEY]
    return made


def _view(subject: Subject) -> View:
    tree, state = Tree(subject.root), assigned(subject.root)
    containers = tuple(running(subject.root, tree, threads(subject)))
    told = {}
    paired: list[Pair] = []
    planned = Planned(cpuset(subject, SHARED_CPUSET), cpuset(subject, INFRA_CTR_CPUSET))
    for pod, ones in by_pod(containers).items():
        entries = state.entries.get(pod, {})
        for one in ones if entries else ():
            if found := mixed(subject.root, one):
                told[one.container.path] = found
        paired += pairs(ones, entries, told, planned)
    return View(
        tree,
        online(subject),
        tuple(partitions(tree)),
        state,
        containers,
        tuple(paired),
        told,
    )


def cpuset(subject: Subject, row: Row) -> CpuSet:
    """The CPUs of a row's setting; empty without one."""
    value = subject.expected.settings.value(row)
    if isinstance(value, str):
        return cpu_list(value)
    return value if isinstance(value, CpuSet) else EMPTY
