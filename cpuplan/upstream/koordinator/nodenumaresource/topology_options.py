"""What the scheduler makes of a NodeResourceTopology.

Upstream: koordinator-sh/koordinator pkg/scheduler/plugins/nodenumaresource/topology_options.go
  @ 989ca85c62abcca92b303aa12fd2ccff2ed30fed
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from cpuplan.upstream.koordinator.extension.node import (
    of_milli,
    read_ratios,
    read_system_qos,
    reserved_cpus,
)
from cpuplan.upstream.koordinator.extension.numa_aware import (
    BEST_EFFORT,
    RESTRICTED,
    SINGLE_NUMA_NODE,
    CpuManagerPolicy,
    NumaNodeResource,
    kubelet_bound,
    read_cpu_manager_policy,
    read_cpu_topology,
    read_pod_cpu_allocs,
)
from cpuplan.upstream.koordinator.nodenumaresource.cpu_topology import CPUTopology, topology_of
from cpuplan.upstream.koordinator.util import Annotations, parse_cpus
from cpuplan.upstream.kubernetes.errors import NIL_DEREFERENCE, KubeletError, PanicError
from cpuplan.upstream.kubernetes.pod import CPU, read_resources
from cpuplan.upstream.kubernetes.quantity import ZERO
from cpuplan.upstream.kubernetes.strconv import atoi


class TopologyOptions(NamedTuple):
    """A node's CPUs, those that pods do not get, and its resources by NUMA node.

    Without a NodeResourceTopology there is no topology at all, which is not the same as one without
    CPUs. `ratios` amplify resources; None where the NodeResourceTopology says nothing.
    """

    topology: CPUTopology | None = None
    reserved: int = 0
    numa_nodes: tuple[NumaNodeResource, ...] = ()
    numa_policy: str = ""
    kubelet: CpuManagerPolicy | None = None
    ratios: Mapping[str, float] | None = None
    max_ref_count: int = 1

    @property
    def has_cpus(self) -> bool:
        return self.topology is not None and self.topology.is_valid


Manifest = Mapping[str, Any]
#: The scheduler knows these names of topologyPolicies. Koordlet writes others for the kubelet's
#: restricted and best-effort, so that only single-numa-node for pods ever gets here.
_POLICIES = {
    "BestEffort": BEST_EFFORT,
    "Restricted": RESTRICTED,
    "SingleNUMANodePodLevel": SINGLE_NUMA_NODE,
}


def read_topology_options(nrt: Manifest) -> TopologyOptions:
    """Of a NodeResourceTopology v1alpha1; annotations that cannot be read count as absent.

    PanicError for a `cpu-topology` that cannot be read: there the scheduler crashes.
    """
    annotations = (nrt.get("metadata") or {}).get("annotations") or {}
    try:
        cpus = read_cpu_topology(annotations)
    except KubeletError:
        raise PanicError(NIL_DEREFERENCE) from None
    topology = topology_of(tuple((cpu.id, cpu.core, cpu.socket, cpu.node) for cpu in cpus))
    reserved = _reserved(annotations)
    zones = [_without(zone, topology, reserved) for zone in _zones(nrt.get("zones") or ())]
    return TopologyOptions(
        topology=topology,
        reserved=reserved,
        numa_nodes=tuple(sorted(zones, key=lambda zone: zone.node)),
        numa_policy=numa_policy(nrt.get("topologyPolicies") or ()),
        kubelet=_read(read_cpu_manager_policy, annotations),
        ratios=_read(read_ratios, annotations),
    )


def numa_policy(topology_policies: Iterable[str]) -> str:
    """The policy of the first name that the scheduler knows; empty for none."""
    return next((_POLICIES[name] for name in topology_policies if name in _POLICIES), "")


def _read(read: Callable[[Annotations], Any], annotations: Annotations) -> Any:
    try:
        return read(annotations)
    except KubeletError:
        return None


def _reserved(annotations: Annotations) -> int:
    """CPUs of the kubelet's pods, of its reservation, of the node's, and of system daemons."""
    allocs = _read(read_pod_cpu_allocs, annotations)
    reserved = kubelet_bound(allocs or ())
    kubelet = _read(read_cpu_manager_policy, annotations)
    lists = [kubelet.reserved_cpus if kubelet else "", reserved_cpus(annotations)[0]]
    system = _read(read_system_qos, annotations)
    if system is not None and system.is_exclusive:
        lists.append(system.cpuset)
    for text in lists:
        try:
            reserved |= parse_cpus(text)
        except KubeletError:
            continue
    return reserved


def _zones(given: Sequence[Manifest]) -> Iterable[NumaNodeResource]:
    """NUMA nodes: zones of the type Node called node-0, node-1, ...; others are left out."""
    for zone in given:
        parts = zone.get("name", "").split("node-")
        if zone.get("type") != "Node" or len(parts) != 2:
            continue
        try:
            node = atoi(parts[1])
        except KubeletError:
            continue
        resources = zone.get("resources") or ()
        allocatable = {row["name"]: row.get("allocatable", 0) for row in resources}
        yield NumaNodeResource(node, read_resources(allocatable))


def _without(zone: NumaNodeResource, topology: CPUTopology, reserved: int) -> NumaNodeResource:
    """The zone less its reserved CPUs."""
    amount = zone.resources.get(CPU, ZERO)
    if not amount.nano:
        return zone
    left = amount.milli - 1000 * (topology.in_node.get(zone.node, 0) & reserved).bit_count()
    return zone._replace(resources={**zone.resources, CPU: of_milli(left, amount.format)})
