"""Reserved memory, by NUMA node: for the kubelet, NodeResourceTopology and their checks."""

from cpuplan.base import text
from cpuplan.components import chosen, hugepages
from cpuplan.facts.settings.kubelet import EVICTION_HARD, KUBE_RESERVED, SYSTEM_RESERVED
from cpuplan.plan import NodePlan
from cpuplan.upstream.kubelet.eviction import DEFAULT_HARD, MEMORY_AVAILABLE
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.quantity import parse


def uses_memory_manager(plan: NodePlan) -> bool:
    """Whether the memory manager has the Static policy."""
    spec = plan.spec.kubelet
    if spec.dynamic_resource_allocation:
        return False
    if spec.memory_manager_policy:
        return spec.memory_manager_policy == "Static"
    return chosen.memory_is_aligned(plan)


def reservation(plan: NodePlan) -> int:
    """Bytes that Node Allocatable takes off: what NUMA nodes reserve must add up to them.

    Values that are no quantity count for nothing; `checks.kubelet` reports them.
    """
    amounts = (
        chosen.amounts(plan, KUBE_RESERVED).get("memory"),
        chosen.amounts(plan, SYSTEM_RESERVED).get("memory"),
    )
    return sum(_size_of(text or "") for text in (*amounts, threshold(plan)))


def threshold(plan: NodePlan) -> str:
    """The memory below which pods are evicted: the kubelet's own where no threshold is given."""
    given = chosen.amounts(plan, EVICTION_HARD)
    if not given and not plan.node_class.platform.owns_kubelet_configuration:
        return DEFAULT_HARD[MEMORY_AVAILABLE]
    return given.get(MEMORY_AVAILABLE, "")


def _size_of(text: str) -> int:
    """The bytes of a quantity; 0 where there is none."""
    try:
        return parse(text).value
    except KubeletError:
        return 0


def reserved(plan: NodePlan) -> dict[int, int]:
    """Reserved bytes by NUMA node, ascending: as the intent says, else `placed`.

    Empty without a memory manager.
    """
    if not uses_memory_manager(plan):
        return {}
    return given(plan) or placed(plan)[0]


def given(plan: NodePlan) -> dict[int, int]:
    """The reserved bytes that the intent lists, by NUMA node, ascending."""
    sizes: dict[int, int] = {}
    for entry in plan.spec.kubelet.reserved_memory:
        sizes[entry.numa_node] = sizes.get(entry.numa_node, 0) + text.quantity_bytes(entry.memory)
    return {node: size for node, size in sorted(sizes.items()) if size}


def placed(plan: NodePlan) -> tuple[dict[int, int], int]:
    """Reserved bytes by NUMA node, and the bytes for which there is no room.

    System services run on the reserved CPUs, so their nodes come first, from the lowest CPU on;
    then the rest in order. A node takes what it has beside its huge pages, in whole MiB, whichever
    nodes the kernel chooses for pages that cannot be spread evenly.
    """
    wanted = reservation(plan)
    rooms = hugepages.room(plan, at_worst=True)
    sizes: dict[int, int] = {}
    for node in _preferred(plan):
        room = rooms.get(node, 0)
        taken = (
            wanted if room is None else max(0, min(wanted, room // hugepages.MIB * hugepages.MIB))
        )
        if taken:
            sizes[node] = taken
            wanted -= taken
    return dict(sorted(sizes.items())), wanted


def _preferred(plan: NodePlan) -> list[int]:
    """NUMA nodes in the order in which they are asked."""
    first = [
        plan.topology[cpu].numa_node for cpu in plan.pool("reserved").cpus & plan.topology.online
    ]
    return list(dict.fromkeys([*first, *hugepages.memory_nodes(plan.topology)]))
