"""A node as its kubelet finds it: from its plan, or from the expected state that was compiled.

There are assumptions for what the inventory does not contain. Also the same node under the kubelet
alone or under Koordinator, each as near to the other as it comes.
"""

import json
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.text import joined
from cpuplan.base.topology import Topology
from cpuplan.components import chosen, derived, hugepages, kubelet
from cpuplan.components.dra import driver
from cpuplan.components.nri import balloons, policies, topologyaware
from cpuplan.components.nri.policies import PolicyInputs
from cpuplan.components.nrt import exporter_of
from cpuplan.components.openshift import pinning
from cpuplan.facts import versions
from cpuplan.facts.platforms import Platform
from cpuplan.facts.settings.kubelet import (
    CPU_MANAGER_OPTIONS,
    CPU_MANAGER_POLICY,
    RESERVED_CPUS,
    TOPOLOGY_MANAGER_OPTIONS,
    TOPOLOGY_MANAGER_POLICY,
    TOPOLOGY_MANAGER_SCOPE,
)
from cpuplan.facts.versions import Version
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.expected.state import Expected
from cpuplan.simulate.apiserver import Surroundings
from cpuplan.simulate.runtimes import Runtime, runtime_of, runtime_of_expected
from cpuplan.upstream.koordinator.extension.constants import (
    CPU_BIND_POLICY,
    NUMA_TOPOLOGY_POLICY,
    RESERVATION,
)
from cpuplan.upstream.koordinator.extension.node import RESERVED_CPUS_ONLY
from cpuplan.upstream.koordinator.extension.numa_aware import (
    BEST_EFFORT,
    FULL_PCPUS_ONLY,
    FULL_PCPUS_OPTION,
    RESTRICTED,
    SINGLE_NUMA_NODE,
    STATIC,
)
from cpuplan.upstream.kubelet.config.codec import merge
from cpuplan.upstream.kubelet.cpumanager.policy_static import Fork
from cpuplan.upstream.kubelet.kubelet import Configuration, Kubelet, Node, configure
from cpuplan.upstream.kubelet.machine import Machine, NodeMemory, hugepage_name
from cpuplan.upstream.kubelet.memorymanager import state as memorystate
from cpuplan.upstream.kubelet.policy_options import with_gates
from cpuplan.upstream.kubelet.sysinfo import machine_of, without
from cpuplan.upstream.kubelet.topologymanager import policy
from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.fit import EPHEMERAL_STORAGE
from cpuplan.upstream.kubernetes.json import dump
from cpuplan.upstream.kubernetes.kube_features import LATEST, Gates
from cpuplan.upstream.kubernetes.pod import HUGEPAGES, MEMORY, Resources

if TYPE_CHECKING:
    from cpuplan.simulate.dra import Inputs as DraInputs
    from cpuplan.simulate.koordinator import Inputs
    from cpuplan.upstream.nri.balloons.config import Config as BalloonsConfig
    from cpuplan.upstream.nri.topologyaware.config import Config as PoolsConfig


#: Pages of a NUMA node: (size in KiB, count).
_Pages = tuple[tuple[int, int], ...]
#: Resources that every kubelet checks and no inventory contains: they stop no pod.
_NOT_CHECKED = {EPHEMERAL_STORAGE: quantity.of(1 << 60, quantity.BINARY)}


class Planned(NamedTuple):
    """All that a kubelet starts with, except its state files.

    `balloons`, `pools`, `dra` or `koordinator` is what gives CPUs to containers in its place, if
    anything does.
    """

    config: dict[str, Any]
    machine: Machine
    version: versions.Version
    fork: Fork
    runtime: Runtime = Runtime()
    #: Allocatable amounts that the inventory does not contain.
    resources: Resources = MappingProxyType({})
    balloons: "PolicyInputs[BalloonsConfig] | None" = None
    pools: "PolicyInputs[PoolsConfig] | None" = None
    koordinator: "Inputs | None" = None
    dra: "DraInputs | None" = None
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


def planned(plan: ConfiguredPlan, around: Surroundings | None = None) -> Planned:
    """The node of a plan after its first boot: offlined CPUs are off, huge pages are set aside.

    `around` is what is known of its cluster, where somebody has looked.
    """
    target = plan.node_class.target
    version = versions.kubernetes_version(target) or LATEST
    platform = plan.node_class.platform
    config = _merged(platform, kubelet.configuration(plan.settings.of(kubelet.NAME)), version)
    is_fork = platform.forks_kubelet
    fork = Fork(is_fork, is_fork and target.cpu_partitioning)
    topology = without(plan.topology, plan.pool("offlined").cpus)
    host = machine_of(topology, _pages(plan))
    machine = host._replace(cgroup_v1=chosen.has_cgroups_v1(plan))
    own = balloons.policy_inputs(plan) if target.has_balloons else None
    theirs = _koordinator(plan) if target.has_koordinator else None
    return Planned(
        config,
        machine,
        version,
        fork,
        runtime_of(plan, around),
        balloons=own,
        pools=topologyaware.policy_inputs(plan) if target.has_topology_aware else None,
        koordinator=theirs,
        dra=_dra(plan) if target.has_dra else None,
        exporter=exporter_of(plan),
    )


def _dra(plan: ConfiguredPlan) -> "DraInputs":
    from cpuplan.simulate.dra import inputs as of_plan  # for few plans

    return of_plan(plan)


def _koordinator(plan: ConfiguredPlan) -> "Inputs":
    from cpuplan.simulate.koordinator import inputs  # for few plans

    return inputs(plan)


def _pages(plan: ConfiguredPlan) -> dict[int, _Pages]:
    """(size in KiB, count) by NUMA node: sysfs has all sizes on all nodes, with a count of 0."""
    planned_pages = hugepages.per_node(plan)
    sizes = sorted({size for counts in planned_pages.values() for size in counts})
    pages = {}
    for node, counts in planned_pages.items():
        pages[node] = tuple((size, counts.get(size, 0)) for size in sizes)
    return pages


#: The largest part by which memory may differ from the inventory and be that of the same modules:
#: what the kernel keeps for itself, below a crash kernel, is not in MemTotal, and moves by pages
#: from boot to boot.
_SAME_MODULES = Fraction(1, 16)


def with_recorded_memory(
    facts: Planned, text: str | None, *, is_assumed: bool = False
) -> tuple[Planned, str]:
    """The node with the memory of its memory_manager_state, and what that changed, in words.

    The kubelet writes a table for every size of huge pages of the kernel, mostly of 0 pages, and
    compares the bytes of each NUMA node with those that it starts with. Memory that cannot be that
    of the inventory, and pages that the plan does not have, are left to the kubelet to refuse.
    `is_assumed`: the inventory has no memory.
    """
    state = memorystate.recorded(text, Gates(version=facts.version)) if text else {}
    machine = facts.machine
    if state.keys() != {node.id for node in machine.memory}:
        return facts, ""
    most = None if is_assumed else _SAME_MODULES
    memory = tuple(_with_recorded(node, state[node.id], most) for node in machine.memory)
    changed = [
        f"{new.memory:,} instead of {old.memory:,} bytes on NUMA node {old.id}"
        for old, new in zip(machine.memory, memory, strict=True)
        if old.memory != new.memory
    ]
    return facts._replace(machine=machine._replace(memory=memory)), joined(changed)


def _with_recorded(
    node: NodeMemory, state: memorystate.NodeState, most: Fraction | None
) -> NodeMemory:
    sizes = dict(node.hugepages)
    for name, table in state.memory.items():
        if name.startswith(HUGEPAGES) and not table.total:
            sizes.setdefault(_size_of(name), 0)
    sizes.pop(0, None)
    recorded = state.memory.get(MEMORY)
    total = recorded.total if recorded else node.memory
    is_same = most is None or abs(total - node.memory) <= node.memory * most
    return NodeMemory(node.id, total if is_same else node.memory, tuple(sorted(sizes.items())))


def _size_of(name: str) -> int:
    """The KiB of a page of a resource such as hugepages-2Mi; 0 where it is not one."""
    try:
        size = quantity.parse(name.removeprefix(HUGEPAGES)).value // 1024
    except KubeletError:
        return 0
    return size if hugepage_name(size) == name else 0


_NUMA_POLICIES = MappingProxyType(
    {
        policy.BEST_EFFORT: BEST_EFFORT,
        policy.RESTRICTED: RESTRICTED,
        policy.SINGLE: SINGLE_NUMA_NODE,
    }
)
#: What else of the configuration only makes sense with the managers' policies.
_MANAGED = (CPU_MANAGER_OPTIONS.head, TOPOLOGY_MANAGER_OPTIONS.head, TOPOLOGY_MANAGER_POLICY.key)


def under_koordinator(facts: Planned) -> Planned:
    """The node with Koordinator, and the kubelet's CPU manager off, as koordlet wants it."""
    if facts.koordinator:
        return facts
    from cpuplan.simulate.koordinator import Inputs  # for few plans

    config, labels = facts.config, {}
    if (config.get(CPU_MANAGER_OPTIONS.head) or {}).get(FULL_PCPUS_OPTION) == "true":
        labels[CPU_BIND_POLICY] = FULL_PCPUS_ONLY
    if aligned := _NUMA_POLICIES.get(config.get(TOPOLOGY_MANAGER_POLICY.key, "")):
        labels[NUMA_TOPOLOGY_POLICY] = aligned
    annotations = {}
    if reserved := config.get(RESERVED_CPUS.key):
        value = {"reservedCPUs": reserved, "applyPolicy": RESERVED_CPUS_ONLY}
        annotations[RESERVATION] = dump(value)
    bare = {key: value for key, value in config.items() if key not in _MANAGED}
    return facts._replace(
        config={**bare, CPU_MANAGER_POLICY.key: "none"},
        balloons=None,
        dra=None,
        pools=None,
        koordinator=Inputs(labels, annotations),
    )


def under_kubelet(facts: Planned) -> Planned:
    """The node without Koordinator, with the static policy and options that match its labels."""
    if not facts.koordinator:
        return facts
    labels = facts.koordinator.labels
    config: dict[str, Any] = {**facts.config, CPU_MANAGER_POLICY.key: STATIC}
    if labels.get(CPU_BIND_POLICY) == FULL_PCPUS_ONLY:
        config[CPU_MANAGER_OPTIONS.head] = {FULL_PCPUS_OPTION: "true"}
    wanted = labels.get(NUMA_TOPOLOGY_POLICY, "")
    if wanted:
        config[TOPOLOGY_MANAGER_POLICY.key] = _kubelet_name(wanted)
        config[TOPOLOGY_MANAGER_SCOPE.key] = "pod"
    return facts._replace(config=config, koordinator=None)


def _kubelet_name(wanted: str) -> str:
    names: Mapping[str, str] = {theirs: own for own, theirs in _NUMA_POLICIES.items()}
    return names.get(wanted, policy.NONE)


def given_out_by(expected: Expected) -> str:
    """What gives CPUs to containers, and cannot be simulated from this alone; else empty."""
    return "Koordinator" if expected.facts.get(derived.KOORDLET) else ""


def _merged(platform: Platform, given: dict[str, Any], version: Version) -> dict[str, Any]:
    """What a plan gives to a kubelet, above what lies below a drop-in of its platform."""
    base = platform.base(version) if platform.takes_files else {}
    return {"maxPods": platform.max_pods, **with_gates(merge(base, given), version)}


def planned_of_expected(expected: Expected) -> Planned:
    """All that a node starts with; `planned` makes the same from a plan."""
    return kubelet_alone(expected)._replace(
        balloons=_policy(expected, balloons),
        pools=_policy(expected, topologyaware),
        dra=_dra_of_expected(expected),
    )


def kubelet_alone(expected: Expected) -> Planned:
    """What the kubelet starts with, whatever gives out CPUs beside it."""
    release, platform = expected.release, expected.platform
    version = release.kubernetes or LATEST
    given = kubelet.configuration(expected.settings.of(kubelet.NAME))
    config = _merged(platform, given, version)
    topology = without(expected.topology, expected.pool("offlined").cpus)
    machine = machine_of(topology, _pages_of_facts(expected.topology, expected.facts))
    is_v1 = expected.facts.get(derived.CGROUPS) == "v1"
    is_pinned = bool(expected.settings.of(pinning.NAME))
    fork = Fork(platform.forks_kubelet, platform.forks_kubelet and is_pinned)
    runtime = runtime_of_expected(expected, version)
    return Planned(config, machine._replace(cgroup_v1=is_v1), version, fork, runtime)


def _dra_of_expected(expected: Expected) -> "DraInputs | None":
    """What the DRA CPU driver starts with, where it gives CPUs to containers."""
    if not expected.settings.of(driver.NAME):
        return None
    from cpuplan.simulate.dra import inputs_of  # for few plans

    return inputs_of(expected.topology, expected.pool("offlined").cpus, expected.settings)


def _policy(expected: Expected, component: ModuleType) -> Any:
    """What an NRI policy starts with, where it gives CPUs to containers; else None."""
    given = expected.settings.of(component.NAME)
    if not given:
        return None
    isolated = expected.facts[derived.UNBALANCED]
    apart = isolated if isinstance(isolated, CpuSet) else CpuSet()
    machine = policies.machine(expected.topology, apart, expected.pool("offlined").cpus)
    return PolicyInputs(machine, component.config_of(given))


def _pages_of_facts(topology: Topology, facts: Mapping[str, Any]) -> dict[int, _Pages]:
    """As sysfs has them: all sizes on all nodes with memory, with a count of 0."""
    counts: Mapping[str, Mapping[str, int]] = facts.get(derived.HUGE_PAGES) or {}
    sizes = sorted({int(size) for of_node in counts.values() for size in of_node})
    nodes = {*hugepages.memory_nodes(topology), *map(int, counts)}
    return {node: _of_node(counts.get(str(node), {}), sizes) for node in sorted(nodes)}


def _of_node(counts: Mapping[str, int], sizes: list[int]) -> _Pages:
    return tuple((size, counts.get(str(size), 0)) for size in sizes)
