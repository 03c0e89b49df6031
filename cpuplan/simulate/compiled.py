"""A node as it was compiled: what its kubelet finds, from the expected state of its class alone."""

from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.topology import Topology
from cpuplan.components import derived, hugepages, kubelet
from cpuplan.components.dra import driver
from cpuplan.components.nri import balloons, policies, topologyaware
from cpuplan.components.openshift import pinning
from cpuplan.plan.expected.state import Expected
from cpuplan.simulate.planned import Planned
from cpuplan.upstream.kubelet.cpumanager.policy_static import Fork
from cpuplan.upstream.kubelet.policy_options import with_gates
from cpuplan.upstream.kubelet.sysinfo import machine_of, without
from cpuplan.upstream.kubernetes.kube_features import LATEST

if TYPE_CHECKING:
    from cpuplan.simulate.dra import Inputs as DraInputs

#: Pages of a NUMA node: (size in KiB, count).
_Pages = tuple[tuple[int, int], ...]


def given_out_by(expected: Expected) -> str:
    """What gives CPUs to containers, and cannot be simulated from this alone; else empty."""
    return "Koordinator" if expected.facts.get(derived.KOORDLET) else ""


def planned(expected: Expected) -> Planned:
    """All that a node starts with; `simulate.planned` makes the same from a plan."""
    return kubelet_alone(expected)._replace(
        balloons=_policy(expected, balloons),
        pools=_policy(expected, topologyaware),
        dra=_dra(expected),
    )


def kubelet_alone(expected: Expected) -> Planned:
    """What the kubelet starts with, whatever gives out CPUs beside it."""
    release, platform = expected.release, expected.platform
    version = release.kubernetes or LATEST
    given = kubelet.configuration(expected.settings.of(kubelet.NAME))
    config = {"maxPods": platform.max_pods, **with_gates(given, version)}
    topology = without(expected.topology, expected.pool("offlined").cpus)
    machine = machine_of(topology, _pages(expected.topology, expected.facts))
    is_v1 = expected.facts.get(derived.CGROUPS) == "v1"
    is_pinned = bool(expected.settings.of(pinning.NAME))
    fork = Fork(platform.forks_kubelet, platform.forks_kubelet and is_pinned)
    return Planned(config, machine._replace(cgroup_v1=is_v1), version, fork)


def _dra(expected: Expected) -> "DraInputs | None":
    """What the DRA CPU driver starts with, where it gives CPUs to containers."""
    if not expected.settings.of(driver.NAME):
        return None
    from cpuplan.simulate.dra import inputs_of  # for few plans

    return inputs_of(expected.topology, expected.pool("offlined").cpus, expected.settings)


def _policy(expected: Expected, policy: ModuleType) -> Any:
    """What an NRI policy starts with, where it gives CPUs to containers; else None."""
    given = expected.settings.of(policy.NAME)
    if not given:
        return None
    isolated = expected.facts[derived.UNBALANCED]
    apart = isolated if isinstance(isolated, CpuSet) else CpuSet()
    machine = policies.machine(expected.topology, apart, expected.pool("offlined").cpus)
    return policies.PolicyInputs(machine, policy.config_of(given))


def _pages(topology: Topology, facts: Mapping[str, Any]) -> dict[int, _Pages]:
    """As sysfs has them: all sizes on all nodes with memory, with a count of 0."""
    counts: Mapping[str, Mapping[str, int]] = facts.get(derived.HUGE_PAGES) or {}
    sizes = sorted({int(size) for of_node in counts.values() for size in of_node})
    nodes = {*hugepages.memory_nodes(topology), *map(int, counts)}
    return {node: _of_node(counts.get(str(node), {}), sizes) for node in sorted(nodes)}


def _of_node(counts: Mapping[str, int], sizes: list[int]) -> _Pages:
    return tuple((size, counts.get(str(size), 0)) for size in sizes)
