"""The NodeResourceTopology that koordlet writes for its node.

What it knows of the node, what is kept back, the pools of LS and BE pods, and the zones.

Upstream: koordinator-sh/koordinator pkg/koordlet/statesinformer/impl/states_noderesourcetopology.go
  pkg/koordlet/util/kubelet/kubelet.go pkg/util/resource.go
  @ 989ca85c62abcca92b303aa12fd2ccff2ed30fed
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from cpuplan.upstream.koordinator.extension import constants, qos
from cpuplan.upstream.koordinator.extension.constants import ENABLE_NUMA_RESERVATION
from cpuplan.upstream.koordinator.extension.node import (
    NodeReservation,
    SystemQos,
    of_milli,
    read_reservation,
    read_system_qos,
    reserved_cpus,
)
from cpuplan.upstream.koordinator.extension.numa_aware import (
    STATIC,
    CpuInfo,
    CpuManagerPolicy,
    PodCpuAlloc,
    SharedPool,
    read_resource_status,
)
from cpuplan.upstream.koordinator.util import Annotations, parse_cpus, texts_of
from cpuplan.upstream.kubelet.cpumanager.cpu_assignment import take_by_topology_numa_packed
from cpuplan.upstream.kubelet.cpumanager.topology import CPUTopology
from cpuplan.upstream.kubelet.machine import NodeMemory, hugepage_name
from cpuplan.upstream.kubelet.node_container_manager import parse_reserved, reserve_cpus
from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.bits import bits_of, to_text
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.json import STRING, dump, map_of
from cpuplan.upstream.kubernetes.pod import CPU, MEMORY, Pod, Resources
from cpuplan.upstream.kubernetes.quantity import BINARY, ZERO
from cpuplan.upstream.kubernetes.unmarshal import struct, unmarshal

_NOTHING: Mapping[str, str] = MappingProxyType({})


class Node(NamedTuple):
    """The v1 Node; `annotations` are None where the object has no such field."""

    labels: Mapping[str, str] = _NOTHING
    annotations: Annotations | None = None
    capacity: Resources = MappingProxyType({})
    allocatable: Resources = MappingProxyType({})


class Kubelet(NamedTuple):
    """What the kubelet says of its configuration (/configz), defaults included."""

    cpu_manager_policy: str = "none"
    cpu_manager_options: Mapping[str, str] = _NOTHING
    reserved_system_cpus: str = ""
    system_reserved: Mapping[str, str] = _NOTHING
    kube_reserved: Mapping[str, str] = _NOTHING
    topology_policy: str = "none"
    topology_scope: str = "container"


class Machine(NamedTuple):
    """CPUs, and memory by NUMA node."""

    cpus: tuple[CpuInfo, ...]
    memory: tuple[NodeMemory, ...] = ()

    @property
    def all(self) -> int:
        return bits_of(cpu.id for cpu in self.cpus)


def kubelet_topology(cpus: Sequence[CpuInfo]) -> CPUTopology:
    """The topology for koordlet's copy of the kubelet's packed algorithm.

    The copy takes sockets before NUMA nodes on every machine (koordlet/util/kubelet).
    """
    sockets = len({cpu.socket for cpu in cpus})
    return CPUTopology(
        [(cpu.id, cpu.core, cpu.socket, cpu.node, cpu.socket) for cpu in cpus],
        cores=len({cpu.core for cpu in cpus}),
        sockets=sockets,
        numa_nodes=sockets + 1,
        uncore_caches=sockets,
        cpus=len(cpus),
    )


def pools_of(cpus: Iterable[CpuInfo], members: int) -> list[SharedPool]:
    """The CPUs in `members` by NUMA node, in the order of sockets; nodes without one are left out.

    A pool is named after the socket of its lowest CPU.
    """
    nodes: dict[int, int] = {}
    sockets: dict[int, int] = {}
    for cpu in sorted(cpus):
        if members >> cpu.id & 1:
            nodes[cpu.node] = nodes.get(cpu.node, 0) | 1 << cpu.id
            sockets.setdefault(cpu.node, cpu.socket)
    pools = [SharedPool(sockets[node], node, to_text(bits)) for node, bits in nodes.items()]
    return sorted(pools)


def kubelet_reserved(kubelet: Kubelet, topology: CPUTopology) -> int:
    """The CPUs that the kubelet's static policy keeps (GetStaticCPUManagerPolicyReservedCPUs).

    None at all where koordlet cannot work them out, whatever the kubelet does then.
    """
    system, kube = dict(kubelet.system_reserved), dict(kubelet.kube_reserved)
    try:
        named = reserve_cpus(kubelet.reserved_system_cpus, topology.all, system, kube)
        of_system, of_kube = (parse_reserved(given).get(CPU, ZERO) for given in (system, kube))
        milli = of_system.plus(of_kube).milli
        if not milli:
            return 0
        count = -(-milli // 1000)
        reserved = named or take_by_topology_numa_packed(topology, topology.all, count)
    except KubeletError:
        return 0
    return reserved if reserved.bit_count() == count else 0


def node_reserved(topology: CPUTopology, annotations: Annotations) -> NodeReservation:
    """The node's reservation, with the CPUs that are picked where it only says how many.

    A reservation or a list that cannot be read keeps nothing back.
    """
    try:
        reservation = read_reservation(annotations) or NodeReservation({})
    except KubeletError:
        reservation = NodeReservation({})
    listed, count = reserved_cpus(annotations)
    cpus = 0
    try:
        if listed:
            cpus = parse_cpus(listed)
        elif count > 0:
            cpus = take_by_topology_numa_packed(topology, topology.all, count)
    except KubeletError:
        cpus = 0
    if listed or count > 0:
        reservation = reservation._replace(reserved_cpus=to_text(cpus))
    return reservation


def node_system_qos(annotations: Annotations | None) -> SystemQos | None:
    """GetSystemQOSResource: None for a node without annotations; KubeletError with its text."""
    return None if annotations is None else read_system_qos(annotations)


def exclusive_system_cpus(system: SystemQos | None) -> int:
    """The CPUs that belong to pods of the class SYSTEM alone; none where the list is bad."""
    if system is None or not system.is_exclusive:
        return 0
    try:
        return parse_cpus(system.cpuset)
    except KubeletError:
        return 0


_SIZES_KIB = (2048, 1048576)


class Zone(NamedTuple):
    """A NUMA node; what is available is always what is allocatable."""

    name: str
    capacity: Resources
    allocatable: Resources


def compute_zones(machine: Machine, node: Node, *, huge_pages: bool) -> list[Zone]:
    """calTopologyZoneList; `huge_pages` is the gate HugePageReport.

    Zones are numbered from 0, whatever ids the NUMA nodes have. KubeletError with koordlet's text.
    """
    count = len(machine.memory)
    if count != len({cpu.node for cpu in machine.cpus}):
        raise KubeletError("NUMA node number not matched")
    kept = _kept_per_zone(node, count)
    memory = {known.id: known for known in machine.memory}
    zones = []
    for index in range(count):
        pages = _huge_pages(dict(memory[index].hugepages) if index in memory else {}, huge_pages)
        bytes_left = memory[index].memory if index in memory else 0
        bytes_left -= sum(amount.value for amount in pages.values())
        cpus = sum(1 for cpu in machine.cpus if cpu.node == index)
        capacity = {
            CPU: quantity.of(cpus),
            MEMORY: quantity.of(bytes_left, BINARY),
            **pages,
        }
        zones.append(Zone(zone_name(index), capacity, _allocatable_of(capacity, kept)))
    return sorted(zones)


def zone_name(node: int) -> str:
    return f"node-{node}"


def _huge_pages(counts: Mapping[int, int], is_reported: bool) -> Resources:
    return {
        hugepage_name(size): quantity.of(
            size * 1024 * counts.get(size, 0) if is_reported else 0, BINARY
        )
        for size in _SIZES_KIB
    }


def _kept_per_zone(node: Node, count: int) -> Resources:
    """With the label, an equal part of what the kubelet keeps back, rounded up to thousandths."""
    if node.labels.get(ENABLE_NUMA_RESERVATION) != "true":
        return {}
    kept = {}
    for name in (CPU, MEMORY):
        if name in node.capacity and name in node.allocatable:
            whole = node.capacity[name].minus(node.allocatable[name])
            if whole.nano > 0:
                kept[name] = of_milli(-(-whole.milli // count), whole.format)
    return kept


def _allocatable_of(capacity: Resources, kept: Resources) -> Resources:
    allocatable = dict(capacity)
    for name, amount in kept.items():
        left = capacity[name].minus(amount)
        allocatable[name] = left._replace(nano=max(left.nano, 0))
    return allocatable


def merge_zones(old: Mapping[str, Resources], computed: Sequence[Zone]) -> list[Zone]:
    """What an update writes over `old` (allocatable by zone): MergeZoneList.

    Zones that koordlet does not know are dropped, resources of others are kept, and capacity
    becomes what is allocatable. Costs, parents and attributes of zones are lost.
    """
    merged = []
    for zone in computed:
        resources = {**old.get(zone.name, {}), **zone.allocatable}
        merged.append(Zone(zone.name, resources, resources))
    return merged


_CHECKPOINT = struct(
    "state.CPUManagerCheckpoint",
    policyName=STRING,
    defaultCpuSet=STRING,
    entries=map_of(map_of(STRING)),
)
_POLICIES = {
    "single-numa-node": "SingleNUMANode",
    "restricted": "Restricted",
    "best-effort": "BestEffort",
}
_LEVELS = {"container": "ContainerLevel", "pod": "PodLevel"}


class NodeTopology(NamedTuple):
    """What koordlet writes into the NodeResourceTopology of its node."""

    policy: str
    manager: CpuManagerPolicy
    reservation: NodeReservation
    system_qos: SystemQos | None
    allocs: tuple[PodCpuAlloc, ...]
    ls_pools: tuple[SharedPool, ...]
    be_pools: tuple[SharedPool, ...]
    labels: Mapping[str, str]
    zones: tuple[Zone, ...]

    def annotations(self) -> dict[str, Any]:
        """The values as JSON; `cpu-topology` and `cpu-basic-info` are the machine's."""
        allocs = [alloc.as_json() for alloc in self.allocs]
        return {
            constants.CPU_MANAGER_POLICY: self.manager.as_json(),
            constants.CPU_SHARED_POOLS: [pool.as_json() for pool in self.ls_pools],
            constants.BE_CPU_SHARED_POOLS: [pool.as_json() for pool in self.be_pools],
            constants.POD_CPU_ALLOCS: allocs or None,
            constants.RESERVATION: self.reservation.as_json(),
            constants.SYSTEM_QOS_RESOURCE: self.system_qos.as_json() if self.system_qos else None,
        }


def compute_node_topology(
    machine: Machine,
    node: Node,
    pods: Sequence[Pod],
    kubelet: Kubelet | None,
    state: str = "",
    *,
    huge_pages: bool = False,
) -> NodeTopology:
    """calcNodeTopo; KubeletError with its text, and nothing is reported.

    `kubelet` is None where koordlet must not ask it (disable-query-kubelet-config), `state` the
    content of its file cpu_manager_state.
    """
    try:
        zones = compute_zones(machine, node, huge_pages=huge_pages)
    except KubeletError as error:
        raise KubeletError(f"failed to calculate topology ZoneList, err: {error}") from None
    topology = kubelet_topology(machine.cpus)
    shared, manager, policy = machine.all, CpuManagerPolicy(), "None"
    allocs: tuple[PodCpuAlloc, ...] = ()
    if kubelet is not None:
        manager = CpuManagerPolicy(
            kubelet.cpu_manager_policy, tuple(sorted(kubelet.cpu_manager_options.items()))
        )
        if kubelet.cpu_manager_policy == STATIC:
            reserved = to_text(kubelet_reserved(kubelet, topology))
            manager = manager._replace(reserved_cpus=reserved)
            allocs = _kubelet_allocs(pods, state)
            for alloc in allocs:
                shared &= ~parse_cpus(alloc.cpuset)
        policy = topology_policy(kubelet.topology_policy, kubelet.topology_scope)
    try:
        system = node_system_qos(node.annotations)
    except KubeletError as error:
        text = "failed to get system qos resource from node annotation, error"
        raise KubeletError(f"{text}: {error}") from None
    reservation = node_reserved(topology, node.annotations or {})
    kept = parse_cpus(reservation.reserved_cpus) | exclusive_system_cpus(system)
    ls, be = (pools_of(machine.cpus, bits) for bits in _shared(pods, shared))
    label = node.labels.get(constants.ENABLE_NUMA_RESERVATION, "")
    return NodeTopology(
        policy,
        manager,
        reservation,
        system,
        allocs,
        _without_cpus(ls, kept),
        _without_cpus(be, kept),
        {constants.ENABLE_NUMA_RESERVATION: label} if label else {},
        tuple(zones),
    )


def topology_policy(policy: str, scope: str) -> str:
    """The policy of the kubelet's topology manager, in the words of the object's API."""
    if policy not in _POLICIES or scope not in _LEVELS:
        return "None"
    return f"{_POLICIES[policy]}{_LEVELS[scope]}"


def _kubelet_allocs(pods: Sequence[Pod], state: str) -> tuple[PodCpuAlloc, ...]:
    """The CPUs that the kubelet bound, of pods that are not Koordinator's (calGuaranteedCpu)."""
    if not state:
        return ()
    try:
        checkpoint = unmarshal(state, _CHECKPOINT)
    except KubeletError as error:
        text = "failed to calculate Kubelet allocated cpus, err: failed to cal GuaranteedCpu, err"
        raise KubeletError(f"{text}: {error}") from None
    known = {pod.uid: pod for pod in pods}
    managed = {pod.uid for pod in pods if _is_managed(pod)}
    allocs = []
    for uid, containers in sorted((checkpoint.get("entries") or {}).items()):
        cpus = 0 if uid in managed else _union((containers or {}).values())
        if cpus:
            pod = known.get(uid)
            namespace, name = (pod.namespace, pod.name) if pod else ("", "")
            allocs.append(PodCpuAlloc(namespace, name, uid, to_text(cpus), managed_by_kubelet=True))
    return tuple(allocs)


def _is_managed(pod: Pod) -> bool:
    """Whether a pod's CPUs are Koordinator's: by its class, or by a set that it was given."""
    return qos.given_qos(pod) in (qos.LS, qos.BE) or bound_cpus(pod) > 0


def _union(lists: Iterable[str]) -> int:
    """The CPUs of lists; bad ones are left out."""
    bits = 0
    for text in lists:
        try:
            bits |= parse_cpus(text)
        except KubeletError:
            continue
    return bits


def bound_cpus(pod: Pod) -> int:
    """The CPUs in a pod's resource-status, whatever its class; none where it cannot be read."""
    try:
        return parse_cpus(read_resource_status(pod.annotations).cpuset)
    except KubeletError:
        return 0


def _shared(pods: Iterable[Pod], cpus: int) -> tuple[int, int]:
    """What is left of `cpus` for LS pods, and for BE pods (calCPUSharePools)."""
    ls = be = cpus
    for pod in pods:
        bound = bound_cpus(pod)
        ls &= ~bound
        if qos.given_qos(pod) == qos.LSE:
            be &= ~bound
    return ls, be


def _without_cpus(pools: Iterable[SharedPool], kept: int) -> tuple[SharedPool, ...]:
    """Pools without CPUs that are kept back; one that is empty then stays."""
    return tuple(pool._replace(cpuset=to_text(parse_cpus(pool.cpuset) & ~kept)) for pool in pools)


#: Koordinator reads and writes this version only.
API_VERSION, KIND = "topology.node.k8s.io/v1alpha1", "NodeResourceTopology"
_MANAGED_BY = {"app.kubernetes.io/managed-by": "Koordinator"}


def manifest(name: str, machine: Machine, topology: NodeTopology) -> dict[str, Any]:
    """The object; `cpu-basic-info`, which says nothing about CPU sets, is left out."""
    texts = {key: dump(value) for key, value in topology.annotations().items()}
    texts[constants.CPU_TOPOLOGY] = dump({"detail": [cpu._asdict() for cpu in machine.cpus]})
    metadata = {"name": name, "labels": {**_MANAGED_BY, **topology.labels}, "annotations": texts}
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": metadata,
        "topologyPolicies": [topology.policy],
        "zones": [_zone_manifest(zone) for zone in topology.zones],
    }


def _zone_manifest(zone: Zone) -> dict[str, Any]:
    """As koordlet writes it over an older object: all amounts are what is allocatable."""
    resources = [
        {"name": name, "capacity": text, "allocatable": text, "available": text}
        for name, text in texts_of(zone.allocatable).items()
    ]
    return {"name": zone.name, "type": "Node", "resources": resources}
