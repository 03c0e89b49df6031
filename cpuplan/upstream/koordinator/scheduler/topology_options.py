"""What the scheduler makes of a NodeResourceTopology (topology_options.go)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from cpuplan.upstream.koordinator.annotations.node import (
    read_ratios,
    read_system_qos,
    reserved_cpus,
)
from cpuplan.upstream.koordinator.annotations.pod import (
    BEST_EFFORT,
    RESTRICTED,
    SINGLE_NUMA_NODE,
    NumaNodeResource,
)
from cpuplan.upstream.koordinator.annotations.topology import (
    kubelet_bound,
    read_cpu_manager_policy,
    read_cpu_topology,
    read_pod_cpu_allocs,
)
from cpuplan.upstream.koordinator.annotations.values import Annotations
from cpuplan.upstream.koordinator.cpulists import parse_cpus
from cpuplan.upstream.koordinator.scheduler.amplification import of_milli
from cpuplan.upstream.koordinator.scheduler.cpus.topology import CPUTopology, topology_of
from cpuplan.upstream.koordinator.scheduler.options import TopologyOptions
from cpuplan.upstream.kubelet.errors import NIL_DEREFERENCE, KubeletError, PanicError
from cpuplan.upstream.kubelet.go.text import atoi
from cpuplan.upstream.kubelet.pods.pod import CPU, read_resources
from cpuplan.upstream.kubelet.quantity import ZERO

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
