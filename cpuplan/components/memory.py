"""Reserved memory: how much, and on which NUMA nodes. The kubelet, NodeResourceTopology and their checks share it."""

from cpuplan import quantity
from cpuplan.components import hugepages
from cpuplan.intent import ALIGNING
from cpuplan.plan import NodePlan


def uses_memory_manager(plan: NodePlan) -> bool:
    """Whether the memory manager has the Static policy; by default where alignment is demanded, as on OpenShift."""
    spec = plan.spec.kubelet
    if spec.dynamic_resource_allocation:
        return False
    if spec.memory_manager_policy:
        return spec.memory_manager_policy == "Static"
    return spec.topology_manager_policy in ALIGNING


def reservation(plan: NodePlan) -> int:
    """Bytes that Node Allocatable takes off: the kubelet wants `reservedMemory` to add up to exactly this.

    Values that are no quantity count for nothing; `kubelet_checks` reports them.
    """
    spec = plan.spec.kubelet
    amounts = (spec.kube_reserved.get("memory"), spec.system_reserved.get("memory"))
    return sum(size_of(text or "") or 0 for text in (*amounts, spec.eviction_hard.get("memory.available")))


def size_of(text: str) -> int | None:
    """The bytes of a quantity; None when it is none."""
    try:
        return quantity.to_bytes(text)
    except ValueError:
        return None


def reserved(plan: NodePlan) -> dict[int, int]:
    """Reserved bytes by NUMA node, ascending: what the intent says, else `placed`; empty without a memory manager."""
    if not uses_memory_manager(plan):
        return {}
    return given(plan) or placed(plan)[0]


def given(plan: NodePlan) -> dict[int, int]:
    """The reserved bytes that the intent lists, by NUMA node, ascending."""
    found: dict[int, int] = {}
    for entry in plan.spec.kubelet.reserved_memory:
        found[entry.numa_node] = found.get(entry.numa_node, 0) + quantity.to_bytes(entry.memory)
    return {node: size for node, size in sorted(found.items()) if size}


def placed(plan: NodePlan) -> tuple[dict[int, int], int]:
    """Reserved bytes by NUMA node, and the bytes for which there is no room.

    System services run on the reserved CPUs, so their nodes come first, from the lowest CPU on; then the rest in
    order. A node takes what it has beside its huge pages, in whole MiB.
    """
    wanted = reservation(plan)
    rooms = hugepages.room(plan)
    found: dict[int, int] = {}
    for node in _preferred(plan):
        room = rooms.get(node, 0)
        taken = wanted if room is None else max(0, min(wanted, room // hugepages.MIB * hugepages.MIB))
        if taken:
            found[node] = taken
            wanted -= taken
    return dict(sorted(found.items())), wanted


def _preferred(plan: NodePlan) -> list[int]:
    """NUMA nodes in the order in which they are asked."""
    first = [plan.topology[cpu].numa_node for cpu in plan.pool("reserved").cpus & plan.topology.online]
    return list(dict.fromkeys([*first, *hugepages.memory_nodes(plan.topology)]))
