"""A planned node as its kubelet finds it; assumptions for what the inventory does not contain."""

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from cpuplan import versions
from cpuplan.components import cgroups, hugepages, kubelet
from cpuplan.components.nri import balloons
from cpuplan.components.nri.balloons import PolicyInputs
from cpuplan.components.published.exporters import exporter_of
from cpuplan.cpuset import CpuSet
from cpuplan.kubelet import quantity
from cpuplan.kubelet.cpu.policy_static import Fork
from cpuplan.kubelet.machine import Machine, NodeMemory
from cpuplan.kubelet.machineinfo import machine_nodes, number_of_sockets
from cpuplan.kubelet.node import Configuration, Kubelet, Node, configure
from cpuplan.kubelet.pods.nodefit import EPHEMERAL_STORAGE
from cpuplan.kubelet.pods.pod import Resources
from cpuplan.kubelet.releases import policy_options
from cpuplan.kubelet.releases.features import LATEST
from cpuplan.model.topology import Cpu, KubeletFacts, SharedCache, Topology
from cpuplan.plan import ConfiguredPlan
from cpuplan.simulate.koordinator.inputs import Inputs, inputs
from cpuplan.simulate.runtimes import Runtime, runtime_of

#: The memory of each NUMA node if the inventory has none: it then limits no pod.
ASSUMED_MEMORY = 1 << 40
#: Resources that every kubelet checks and no inventory contains: they stop no pod.
_NOT_CHECKED = {EPHEMERAL_STORAGE: quantity.of(1 << 60, quantity.BINARY)}
#: Distances if the inventory has none.
_NEAR, _FAR = 10, 20


class Planned(NamedTuple):
    """All that a kubelet starts with, except its state files.

    `balloons` or `koordinator` is what gives CPUs to containers in its place, if anything does.
    """

    config: dict[str, Any]
    machine: Machine
    version: versions.Version
    fork: Fork
    runtime: Runtime = Runtime()
    #: Allocatable amounts that the inventory does not contain.
    resources: Resources = MappingProxyType({})
    balloons: PolicyInputs | None = None
    koordinator: Inputs | None = None
    #: What publishes the node's NodeResourceTopology.
    exporter: str = ""

    def start(self, node: Node = Node()) -> Kubelet:  # noqa: B008 - a constant
        """A run of the kubelet; StartError, PanicError or HangError if it does not come up."""
        config = _configuration(
            json.dumps(self.config),
            version=self.version,
            is_openshift=self.fork.is_openshift,
            cgroup_v1=self.machine.cgroup_v1,
        )
        kubelet = Kubelet(config, self.machine, node, fork=self.fork, version=self.version)
        kubelet.allocatable |= {**_NOT_CHECKED, **self.runtime.resources, **self.resources}
        return kubelet


@lru_cache(maxsize=64)
def _configuration(text: str, **kubelet: Any) -> Configuration:
    """What kubelets make of a configuration, as JSON; many classes have the same."""
    return configure(json.loads(text), **kubelet)


def planned(plan: ConfiguredPlan) -> Planned:
    """The node of a plan after its first boot: offlined CPUs are off, huge pages are set aside."""
    target = plan.node_class.target
    version = versions.kubernetes_version(target) or LATEST
    platform = plan.node_class.platform
    config = with_gates(kubelet.configuration(plan.settings.of(kubelet.NAME)), version)
    config = {"maxPods": platform.max_pods, **config}
    is_fork = platform.forks_kubelet
    fork = Fork(is_fork, is_fork and target.cpu_partitioning)
    topology = without(plan.topology, plan.pool("offlined").cpus)
    host = machine_of(topology, _pages(plan))
    machine = host._replace(cgroup_v1=cgroups.is_v1(plan))
    own = balloons.policy_inputs(plan) if target.has_balloons else None
    theirs = inputs(plan) if target.has_koordinator else None
    return Planned(
        config,
        machine,
        version,
        fork,
        runtime_of(plan),
        balloons=own,
        koordinator=theirs,
        exporter=exporter_of(plan),
    )


def _pages(plan: ConfiguredPlan) -> dict[int, tuple[tuple[int, int], ...]]:
    """(size in KiB, count) by NUMA node: sysfs has all sizes on all nodes, with a count of 0."""
    planned_pages = hugepages.per_node(plan)
    sizes = sorted({size for counts in planned_pages.values() for size in counts})
    return {
        node: tuple((size, counts.get(size, 0)) for size in sizes)
        for node, counts in planned_pages.items()
    }


def with_gates(config: dict[str, Any], version: versions.Version) -> dict[str, Any]:
    """The configuration with the gates that its alpha options need, unless it sets them itself.

    CP505 says that they must be on.
    """
    gates = dict(config.get("featureGates") or {})
    for field, manager in policy_options.MANAGERS.items():
        levels = [manager.level(option, version) for option in config.get(field) or {}]
        if "alpha" in levels:
            gates.setdefault(manager.gate("alpha"), True)
    return {**config, "featureGates": gates} if gates else config


def without(topology: Topology, cpus: CpuSet) -> Topology:
    """The machine when `cpus` are switched off."""
    if not cpus & topology.online:
        return topology
    left = [cpu for cpu in topology.cpus if cpu.cpu not in cpus]
    first = {cpu.core: cpu.cpu for cpu in reversed(left)}
    facts = topology.kubelet
    caches = (
        SharedCache(cache.level, cache.cpus - cpus, cache.id)
        for cache in facts.caches
        if cache.cpus - cpus
    )
    numa_nodes = facts.numa_nodes and {
        node: members - cpus for node, members in facts.numa_nodes.items()
    }
    return Topology(
        [cpu._replace(core=first[cpu.core]) for cpu in left],
        topology.numa_facts.values(),
        topology.offline | (cpus & topology.online),
        KubeletFacts(
            tuple(caches),
            facts.unread_caches - cpus,
            facts.unlabelled - cpus,
            numa_nodes,
            facts.no_numa_nodes,
            _sockets_left(facts, topology.cpus, left),
            facts.places,
        ),
    )


def _sockets_left(facts: KubeletFacts, before: Iterable[Cpu], left: Iterable[Cpu]) -> int | None:
    """/proc/cpuinfo has online CPUs only: a socket without any is not counted."""
    if facts.sockets is None:
        return None
    return facts.sockets - len({cpu.socket for cpu in before} - {cpu.socket for cpu in left})


def machine_of(
    topology: Topology, pages: Mapping[int, tuple[tuple[int, int], ...]] = MappingProxyType({})
) -> Machine:
    """The machine as cAdvisor reports it; `pages` are (size in KiB, count) by NUMA node."""
    nodes = machine_nodes(topology)
    numbers = sorted(node.id for node in nodes)
    memory = tuple(
        NodeMemory(node, _memory(topology, node), pages.get(node, ())) for node in numbers
    )
    return Machine(nodes, memory, _distances(topology, numbers), number_of_sockets(topology))


def _memory(topology: Topology, node: int) -> int:
    """The bytes of a NUMA node: none if only other nodes of the inventory have memory."""
    facts = topology.numa_facts
    told = facts[node].memory if node in facts else None
    if told is None and not any(other.memory for other in facts.values()):
        return ASSUMED_MEMORY
    return told or 0


def assumes_memory(topology: Topology) -> bool:
    """Whether the inventory has no memory."""
    return not any(facts.memory for facts in topology.numa_facts.values())


def _distances(topology: Topology, numbers: Iterable[int]) -> dict[int, tuple[int, ...]]:
    """A row for each node.

    A row of the inventory has a place for each online node, whatever its number.
    """
    rows = {}
    highest = max(numbers, default=0)
    for node in numbers:
        told = topology.numa_facts[node].distances if node in topology.numa_facts else ()
        rows[node] = told or tuple(_NEAR if other == node else _FAR for other in range(highest + 1))
    return rows
