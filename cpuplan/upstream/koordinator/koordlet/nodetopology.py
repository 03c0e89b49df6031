"""What koordlet reports of its node (statesinformer, states_noderesourcetopology.go)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from cpuplan.upstream.koordinator import keys, qos
from cpuplan.upstream.koordinator.annotations.node import NodeReservation, SystemQos
from cpuplan.upstream.koordinator.annotations.pod import read_resource_status
from cpuplan.upstream.koordinator.annotations.topology import (
    STATIC,
    CpuManagerPolicy,
    PodCpuAlloc,
    SharedPool,
)
from cpuplan.upstream.koordinator.cpulists import parse_cpus
from cpuplan.upstream.koordinator.koordlet.node import (
    Kubelet,
    Machine,
    Node,
    kubelet_topology,
    pools_of,
)
from cpuplan.upstream.koordinator.koordlet.reserved import (
    exclusive_system_cpus,
    kubelet_reserved,
    node_reserved,
    node_system_qos,
)
from cpuplan.upstream.koordinator.koordlet.zones import Zone, compute_zones
from cpuplan.upstream.kubelet.bits import to_text
from cpuplan.upstream.kubelet.errors import KubeletError
from cpuplan.upstream.kubelet.go.unmarshal import STRING, map_of, struct, unmarshal
from cpuplan.upstream.kubelet.pods.pod import Pod

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
            keys.CPU_MANAGER_POLICY: self.manager.as_json(),
            keys.CPU_SHARED_POOLS: [pool.as_json() for pool in self.ls_pools],
            keys.BE_CPU_SHARED_POOLS: [pool.as_json() for pool in self.be_pools],
            keys.POD_CPU_ALLOCS: allocs or None,
            keys.RESERVATION: self.reservation.as_json(),
            keys.SYSTEM_QOS_RESOURCE: self.system_qos.as_json() if self.system_qos else None,
        }


def compute(
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
    label = node.labels.get(keys.ENABLE_NUMA_RESERVATION, "")
    return NodeTopology(
        policy,
        manager,
        reservation,
        system,
        allocs,
        _without(ls, kept),
        _without(be, kept),
        {keys.ENABLE_NUMA_RESERVATION: label} if label else {},
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


def _without(pools: Iterable[SharedPool], kept: int) -> tuple[SharedPool, ...]:
    """Pools without CPUs that are kept back; one that is empty then stays."""
    return tuple(pool._replace(cpuset=to_text(parse_cpus(pool.cpuset) & ~kept)) for pool in pools)
