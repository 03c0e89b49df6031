"""Reserved memory: how much, and on which NUMA nodes. The kubelet, NodeResourceTopology and their
checks share it.
"""

from cpuplan import quantity
from cpuplan.components import chosen, hugepages
from cpuplan.plan import NodePlan

#: evictionHard memory.available of a kubelet that is told nothing
#: (pkg/kubelet/apis/config/v1beta1/defaults_linux.go).
OWN_THRESHOLD = "100Mi"


def uses_memory_manager(plan: NodePlan) -> bool:
    """Whether the memory manager has the Static policy."""
    spec = plan.spec.kubelet
    if spec.dynamic_resource_allocation:
        return False
    if spec.memory_manager_policy:
        return spec.memory_manager_policy == "Static"
    return chosen.memory_is_aligned(plan)


def reservation(plan: NodePlan) -> int:
    """Bytes that Node Allocatable takes off: the kubelet wants `reservedMemory` to add up to
    exactly this.

    Values that are no quantity count for nothing; `kubelet_checks` reports them.
    """
    amounts = (chosen.kube_reserved(plan).get("memory"), chosen.system_reserved(plan).get("memory"))
    return sum(size_of(text or "") or 0 for text in (*amounts, threshold(plan)))


def threshold(plan: NodePlan) -> str:
    """The memory below which pods are evicted; empty for none. Without any threshold, a kubelet has
    its own.
    """
    given = chosen.eviction_hard(plan)
    if not given and plan.node_class.target.platform == "kubernetes":
        return OWN_THRESHOLD
    return given.get("memory.available", "")


def size_of(text: str) -> int | None:
    """The bytes of a quantity; None when it is none."""
    try:
        return quantity.to_bytes(text)
    except ValueError:
        return None


def reserved(plan: NodePlan) -> dict[int, int]:
    """Reserved bytes by NUMA node, ascending: what the intent says, else `placed`; empty without a
    memory manager.
    """
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

    System services run on the reserved CPUs, so their nodes come first, from the lowest CPU on;
    then the rest in order. A node takes what it has beside its huge pages, in whole MiB.
    """
    wanted = reservation(plan)
    rooms = hugepages.room(plan)
    found: dict[int, int] = {}
    for node in _preferred(plan):
        room = rooms.get(node, 0)
        taken = (
            wanted if room is None else max(0, min(wanted, room // hugepages.MIB * hugepages.MIB))
        )
        if taken:
            found[node] = taken
            wanted -= taken
    return dict(sorted(found.items())), wanted


def _preferred(plan: NodePlan) -> list[int]:
    """NUMA nodes in the order in which they are asked."""
    first = [
        plan.topology[cpu].numa_node for cpu in plan.pool("reserved").cpus & plan.topology.online
    ]
    return list(dict.fromkeys([*first, *hugepages.memory_nodes(plan.topology)]))
