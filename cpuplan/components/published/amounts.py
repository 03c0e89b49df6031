"""What the Node object of a planned node says that it has, and that pods can have of it.

Source: Kubernetes pkg/kubelet/cm/node_container_manager_linux.go (GetNodeAllocatableReservation),
pkg/kubelet/nodestatus/setters.go; OpenShift's additions pkg/kubelet/sharedcpus and
pkg/kubelet/managed.
"""

from cpuplan.components import chosen, hugepages, kubelet, memory, mixedcpus
from cpuplan.facts.settings.kubelet import EVICTION_HARD, KUBE_RESERVED, SYSTEM_RESERVED
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Value
from cpuplan.upstream.kubelet.eviction import MEMORY_AVAILABLE
from cpuplan.upstream.kubernetes.pod import CPU, MEMORY
from cpuplan.upstream.kubernetes.quantity import BINARY, of

#: The fact of an expected state.
AMOUNTS = "amounts of the node"
CAPACITY, ALLOCATABLE = "capacity", "allocatable"
#: Of memory: how much less can be allocated than there is, in bytes. An inventory does not know the
#: size that Linux leaves of it.
KEPT = "kept back"
SHARED_CPUS = "workload.openshift.io/enable-shared-cpus"
#: Thousandths of a CPU, for the pods of the platform.
MANAGED_CPUS = "management.workload.openshift.io/cores"


def amounts(plan: NodePlan) -> dict[str, Value]:
    """The amounts of each resource that follow from the plan alone, as Kubernetes' quantities.

    What other files of the kubelet may change, a plan does not know; it is left out.
    """
    online = plan.topology.online - plan.pool("offlined").cpus
    found: dict[str, Value] = {CPU: {CAPACITY: str(len(online)), **_allocatable_cpus(plan)}}
    pages = _pages(plan)
    found |= {name: _whole(size) for name, size in pages.items()}
    if (kept := _reserved_memory(plan)) is not None:
        found[MEMORY] = {KEPT: str(of(kept + sum(pages.values()), BINARY))}
    if plan.node_class.platform.forks_kubelet:
        if mixedcpus.are_used(plan):
            count = str(chosen.sharing_limit(plan))
            found[SHARED_CPUS] = {CAPACITY: count, ALLOCATABLE: count}
        if plan.node_class.target.cpu_partitioning and plan.pool("reserved").cpus:
            found[MANAGED_CPUS] = {CAPACITY: str(of(len(online) * 1000))}
    return found


def _allocatable_cpus(plan: NodePlan) -> dict[str, Value]:
    """The list of reserved CPUs replaces all amounts of CPU that are reserved otherwise."""
    reserved = kubelet.reserved_cpus(plan)
    if not reserved:
        return {}
    online = plan.topology.online - plan.pool("offlined").cpus
    return {ALLOCATABLE: str(len(online - reserved))}


def _pages(plan: NodePlan) -> dict[str, int]:
    """Bytes in huge pages of each size that is asked for."""
    sizes: dict[str, int] = {}
    for pages in hugepages.per_node(plan).values():
        for kib, count in pages.items():
            name = hugepages.resource(kib)
            sizes[name] = sizes.get(name, 0) + kib * 1024 * count
    return sizes


def _whole(size: int) -> Value:
    text = str(of(size, BINARY))
    return {CAPACITY: text, ALLOCATABLE: text}


def _reserved_memory(plan: NodePlan) -> int | None:
    """Bytes that Node Allocatable takes off, None where files of others have a say.

    A kubelet with the memory manager does not start unless NUMA nodes reserve just that.
    """
    if memory.uses_memory_manager(plan):
        return sum(memory.reserved(plan).values()) or None
    stated = (chosen.amounts(plan, KUBE_RESERVED), chosen.amounts(plan, SYSTEM_RESERVED))
    threshold = chosen.amounts(plan, EVICTION_HARD).get(MEMORY_AVAILABLE, "%")
    is_known = all(MEMORY in amounts for amounts in stated) and "%" not in threshold
    return memory.reservation(plan) if is_known else None
