"""The pools of the proposal "Fine-grained CPU orchestration" (2022): no release follows it whole.

What koordlet does instead is in `koordlet/states_noderesourcetopology.py` and `koordlet/cpuset.py`.

Upstream: koordinator-sh/koordinator
  docs/proposals/scheduling/20220530-fine-grained-cpu-orchestration.md
  @ 989ca85c62abcca92b303aa12fd2ccff2ed30fed
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cpuplan.upstream.koordinator.extension import qos
from cpuplan.upstream.koordinator.extension.numa_aware import (
    STATIC,
    SharedPool,
    read_resource_status,
)
from cpuplan.upstream.koordinator.koordlet.states_noderesourcetopology import (
    Machine,
    bound_cpus,
    pools_of,
)
from cpuplan.upstream.koordinator.util import parse_cpus
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.pod import Pod
from cpuplan.upstream.kubernetes.qos import BEST_EFFORT, GUARANTEED

OWN, LS_POOL, BE_POOL = "own", "ls-pool", "be-pool"
UNASSIGNED, UNDEFINED = "unassigned", "undefined"


class Binding(NamedTuple):
    """Where a pod runs; no CPUs where nothing was assigned, or the proposal says nothing."""

    kind: str
    cpus: int | None


class Pools(NamedTuple):
    """Exclusive sets and bindings by pod name, and both shared pools by NUMA node."""

    exclusive: Mapping[str, int]
    shared: tuple[SharedPool, ...]
    best_effort: tuple[SharedPool, ...]
    bindings: Mapping[str, Binding]


def divide(
    machine: Machine, pods: Sequence[Pod], cpu_manager_policy: str, bound: Mapping[str, int]
) -> Pools:
    """The pools of a node; `bound` are the CPUs that the kubelet gave to pods, by their UID.

    CPUs that the kubelet reserves stay in the pools (principle T1.2).
    """
    exclusive: dict[str, int] = {}
    shared = best_effort = machine.all
    for pod in pods:
        cpus = _own_cpus(pod, cpu_manager_policy, bound)
        if cpus:
            exclusive[pod.name] = cpus
            shared &= ~cpus
            if qos.given_qos(pod) != qos.LSR:
                best_effort &= ~cpus
    bindings = {pod.name: _binding(machine, pod, exclusive, shared, best_effort) for pod in pods}
    return Pools(
        exclusive,
        tuple(pools_of(machine.cpus, shared)),
        tuple(pools_of(machine.cpus, best_effort)),
        bindings,
    )


def _own_cpus(pod: Pod, cpu_manager_policy: str, bound: Mapping[str, int]) -> int:
    """LSE and LSR pods have what the scheduler gave, Guaranteed ones what the kubelet did."""
    label = qos.given_qos(pod)
    if label in (qos.LSE, qos.LSR):
        return bound_cpus(pod)
    is_static = cpu_manager_policy == STATIC
    is_guaranteed = label == qos.NONE and qos.kube_qos(pod) == GUARANTEED
    return bound.get(pod.uid, 0) if is_static and is_guaranteed else 0


def _binding(
    machine: Machine, pod: Pod, exclusive: Mapping[str, int], shared: int, best_effort: int
) -> Binding:
    label = qos.given_qos(pod)
    if pod.name in exclusive:
        return Binding(OWN, exclusive[pod.name])
    if label in (qos.LSE, qos.LSR):
        return Binding(UNASSIGNED, None)
    if label == qos.SYSTEM:
        return Binding(UNDEFINED, None)
    if label == qos.BE or (label == qos.NONE and qos.kube_qos(pod) == BEST_EFFORT):
        return Binding(BE_POOL, best_effort)
    nodes = _numa_nodes(pod)
    if nodes:
        shared &= sum(1 << cpu.id for cpu in machine.cpus if cpu.node in nodes)
    return Binding(LS_POOL, shared)


def _numa_nodes(pod: Pod) -> set[int]:
    """The NUMA nodes to whose pools the scheduler tied a pod (T4.2)."""
    try:
        return {node.node for node in read_resource_status(pod.annotations).numa_nodes}
    except KubeletError:
        return set()


def kubelet_bound(entries: Mapping[str, Mapping[str, str]]) -> dict[str, int]:
    """The CPUs of each pod in the kubelet's cpu_manager_state; bad lists are left out."""
    bound: dict[str, int] = {}
    for uid, containers in entries.items():
        for text in containers.values():
            try:
                bound[uid] = bound.get(uid, 0) | parse_cpus(text)
            except KubeletError:
                continue
    return bound
