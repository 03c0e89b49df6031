"""Which CPUs koordlet writes into the cgroups of pods.

Upstream: koordinator-sh/koordinator pkg/koordlet/runtimehooks/hooks/cpuset/cpuset.go
  pkg/koordlet/runtimehooks/hooks/cpuset/rule.go
  pkg/koordlet/qosmanager/plugins/cpusuppress/cpu_suppress.go
  @ 989ca85c62abcca92b303aa12fd2ccff2ed30fed
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cpuplan.upstream.koordinator.extension import qos
from cpuplan.upstream.koordinator.extension.constants import BATCH_CPU
from cpuplan.upstream.koordinator.extension.numa_aware import (
    STATIC,
    ResourceStatus,
    SharedPool,
    read_resource_status,
)
from cpuplan.upstream.koordinator.koordlet.states_noderesourcetopology import (
    Machine,
    NodeTopology,
    bound_cpus,
    exclusive_system_cpus,
)
from cpuplan.upstream.koordinator.util import parse_cpus
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.pod import CPU, Pod, Resources
from cpuplan.upstream.kubernetes.qos import BEST_EFFORT
from cpuplan.upstream.kubernetes.quantity import ZERO

RESOURCE_STATUS, POOL = "resource-status", "pool"
CLEARED, LEFT = "cleared", "leave-to-kubelet"


class PodCpus(NamedTuple):
    """The list that is written for a pod's containers, None for none, and where it comes from.

    A list of several pools is joined without being sorted: compare it as a set.
    """

    cpuset: str | None
    source: str


def pod_cpus(pod: Pod, node: NodeTopology, *, be_manager: bool = False) -> PodCpus:
    """SetContainerCPUSet; `be_manager` is the gate BECPUManager. KubeletError with its text.

    CPUs in a resource-status win, whatever the class of the pod.
    """
    status = read_resource_status(pod.annotations)
    if status.cpuset:
        return PodCpus(status.cpuset, RESOURCE_STATUS)
    if not _has_rule(node):
        return PodCpus(None, LEFT)
    label = qos.given_qos(pod)
    if _is_numa_aware(status) and (label != qos.BE or be_manager):
        return PodCpus(_pools_of(node.be_pools if label == qos.BE else node.ls_pools, status), POOL)
    if label == qos.SYSTEM and node.system_qos and node.system_qos.cpuset:
        return PodCpus(node.system_qos.cpuset, POOL)
    everything = PodCpus(",".join(pool.cpuset for pool in node.ls_pools), POOL)
    if label == qos.LS:
        return everything
    if qos.kube_qos(pod) == BEST_EFFORT:
        return PodCpus("", CLEARED)
    return PodCpus(None, LEFT) if node.manager.policy == STATIC else everything


def _has_rule(node: NodeTopology) -> bool:
    """A list of system CPUs that cannot be read keeps the hook from learning about the node."""
    try:
        parse_cpus(node.system_qos.cpuset if node.system_qos else "")
    except KubeletError:
        return False
    return True


def _is_numa_aware(status: ResourceStatus) -> bool:
    """Whether CPUs were given by NUMA node: other resources can be, too."""
    return any(_has_cpus(node.resources) for node in status.numa_nodes)


def _has_cpus(resources: Resources) -> bool:
    return bool(resources.get(CPU, ZERO).nano) or resources.get(BATCH_CPU, ZERO).value > 0


def _pools_of(pools: Sequence[SharedPool], status: ResourceStatus) -> str:
    return ",".join(
        pool.cpuset
        for numa_node in status.numa_nodes
        for pool in pools
        if pool.node == numa_node.node
    )


def be_cgroup(machine: Machine, node: NodeTopology, pods: Iterable[Pod]) -> int:
    """The set to which the cgroup of best-effort pods is reset (calcBECPUSet).

    It holds the CPUs of LSR pods, and those that the kubelet bound.
    """
    cpus = machine.all & ~exclusive_system_cpus(node.system_qos)
    cpus &= ~parse_cpus(node.reservation.reserved_cpus)
    for pod in pods:
        if qos.given_qos(pod) == qos.LSE:
            cpus &= ~bound_cpus(pod)
    return cpus
