"""Exclusive CPUs against what the kubelet's policies promise: whole cores, few NUMA nodes."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from cpuplan.base.cpuset import CpuSet, cpus_text, union
from cpuplan.base.topology import Topology
from cpuplan.check.pods.pairing import Pair
from cpuplan.check.pods.statefile import Assigned
from cpuplan.check.pods.tree import Tree
from cpuplan.check.threads.task import cpu_list
from cpuplan.plan.setting import Value

SINGLE, RESTRICTED, BY_POD = "single-numa-node", "restricted", "pod"
_OPTIONS = "cpuManagerPolicyOptions"


class Promise(NamedTuple):
    """What the planned configuration of the kubelet promises to each container, or each pod."""

    whole_cores: bool
    #: The policy of the topology manager, where it refuses pods.
    numa: str
    is_by_pod: bool


def promise(values: Mapping[str, Value]) -> Promise:
    """What settings of the kubelet promise, by their key.

    With align-by-socket more masks are preferred, and nothing is promised of NUMA nodes.
    """
    policy = str(values.get("topologyManagerPolicy", ""))
    is_strict = policy in (SINGLE, RESTRICTED) and not _is_on(values, "align-by-socket")
    scope = values.get("topologyManagerScope", "")
    return Promise(_is_on(values, "full-pcpus-only"), policy if is_strict else "", scope == BY_POD)


def _is_on(values: Mapping[str, Value], option: str) -> bool:
    """Whether an option is on, in a setting of its own or in one of all options."""
    all_options = values.get(_OPTIONS, {})
    given = all_options.get(option, "") if isinstance(all_options, dict) else ""
    return str(values.get(f"{_OPTIONS}.{option}", given)).lower() in ("1", "t", "true")


class Misaligned(NamedTuple):
    """Exclusive CPUs that break a promise."""

    who: str
    cpus: CpuSet
    found: str
    wanted: str


def misaligned(
    state: Assigned, topology: Topology, online: CpuSet, promised: Promise
) -> Iterator[Misaligned]:
    """Containers with parts of cores; in other pods, containers or pods on too many NUMA nodes."""
    for pod, entries in sorted(state.entries.items()):
        halves = list(_halves(topology, online, pod, entries)) if promised.whole_cores else []
        yield from halves
        if promised.numa and not halves:
            yield from _of_numa(topology, online, _groups(pod, entries, promised))


def _halves(
    topology: Topology, online: CpuSet, pod: str, entries: Mapping[str, CpuSet]
) -> Iterator[Misaligned]:
    for name, cpus in sorted(entries.items()):
        alone = cpus - _whole(topology, online, cpus)
        if alone:
            found = f"without the siblings of {cpus_text(alone)}"
            yield Misaligned(f"container {name} of pod {pod}", cpus, found, "whole cores")


def _whole(topology: Topology, online: CpuSet, cpus: CpuSet) -> CpuSet:
    """Those of the CPUs whose siblings, as far as they run, are all among them."""
    known = cpus & topology.online
    return CpuSet(cpu for cpu in known if topology.siblings(cpu) & online <= cpus)


def _groups(
    pod: str, entries: Mapping[str, CpuSet], promised: Promise
) -> Iterable[tuple[str, CpuSet]]:
    """What the policy aligns: the CPUs of each container, or of all together."""
    if promised.is_by_pod:
        return [(f"pod {pod}", union(entries.values()))]
    return [(f"container {name} of pod {pod}", cpus) for name, cpus in sorted(entries.items())]


def _of_numa(
    topology: Topology, online: CpuSet, groups: Iterable[tuple[str, CpuSet]]
) -> Iterator[Misaligned]:
    """Both policies admit only as few nodes as have enough CPUs, reserved ones counted."""
    nodes = {node: cpus & online for node, cpus in topology.numa_nodes.items() if cpus & online}
    for who, cpus in groups:
        used = [node for node, of_node in nodes.items() if of_node & cpus]
        least = fewest(list(nodes.values()), len(cpus))
        if len(used) > least:
            numbers = ", ".join(map(str, used))
            wanted = "one NUMA node" if least == 1 else f"{least} NUMA nodes"
            yield Misaligned(who, cpus, f"on NUMA nodes {numbers}", wanted)


def remote(tree: Tree, pairs: Iterable[Pair], topology: Topology) -> Iterator[Misaligned]:
    """Containers whose memory must come from NUMA nodes that none of their CPUs is on."""
    for pair in pairs:
        given = cpu_list(tree.read(pair.running.container.path, "cpuset.mems"))
        used = (node for node, cpus in topology.numa_nodes.items() if cpus & pair.exclusive)
        own = CpuSet(used)
        if given and own and given.isdisjoint(own):
            found = f"with memory of NUMA node {given} alone"
            yield Misaligned(pair.described, pair.exclusive, found, f"memory of NUMA node {own}")


def fewest(nodes: list[CpuSet], count: int) -> int:
    """The smallest number of NUMA nodes that have `count` CPUs together."""
    sizes = sorted(map(len, nodes), reverse=True)
    return next((few for few in range(1, len(sizes) + 1) if sum(sizes[:few]) >= count), len(sizes))
