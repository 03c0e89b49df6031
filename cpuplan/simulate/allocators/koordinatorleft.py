"""What Koordinator has left on a node for pods with CPUs of their own."""

from cpuplan.simulate.allocators import probes
from cpuplan.simulate.allocators.base import Allocator, Left
from cpuplan.upstream.koordinator.extension import qos
from cpuplan.upstream.koordinator.extension.constants import QOS
from cpuplan.upstream.koordinator.extension.numa_aware import SINGLE_NUMA_NODE
from cpuplan.upstream.koordinator.nodenumaresource.node_allocation import SchedulerNode
from cpuplan.upstream.koordinator.nodenumaresource.util import node_numa_policy
from cpuplan.upstream.kubernetes.pod import Pod

#: Requests above the largest one that are tried to explain it: more than the threads of a core.
_SIZES = 8
_PART_OF_CORE = "not multiple cpus per core"


def left(allocator: Allocator, node: SchedulerNode) -> Left | None:
    """None where the scheduler knows no CPUs of the node."""
    topology = node.options.topology
    if topology is None or not topology.is_valid:
        return None
    free, _ = node.allocation.available_cpus()
    is_aligned = node_numa_policy(node.node.labels, node.options) == SINGLE_NUMA_NODE
    groups = [group.cpus for group in topology.nodes] if is_aligned else [topology.all]
    most = max((free & cpus).bit_count() for cpus in groups)
    size = probes.largest(allocator, most, free, probe)
    if size == most < free.bit_count():
        reason = f"no NUMA node has {size + 1} free CPUs, which {SINGLE_NUMA_NODE} requires"
        return Left(free, size, {}, reason)
    return Left(free, size, {}, _because(allocator, size, most))


def _because(allocator: Allocator, size: int, most: int) -> str:
    """Why more is refused; parts of cores count where nothing else is in the way."""
    moment, reason = allocator.take(), ""
    for count in range(size + 1, min(size + _SIZES, most) + 1):
        refused = allocator.admit(probe(count)).refused
        allocator.restore(moment)
        reason = refused.message if refused else reason
        if refused and not reason.endswith(_PART_OF_CORE):
            break
    return reason


def probe(count: int) -> Pod:
    """An LSR pod as the webhook takes it."""
    priority = qos.PRIORITIES[qos.PROD][2]
    return probes.probe(count)._replace(labels={QOS: qos.LSR}, priority=priority)
