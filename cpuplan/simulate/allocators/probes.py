"""The largest container that an allocator would still admit; its state does not change."""

from collections.abc import Callable

from cpuplan.simulate.allocators.base import Allocator, Left, Refusal
from cpuplan.upstream.kubelet.kubelet import Kubelet
from cpuplan.upstream.kubelet.topologymanager.policy import (
    NONE,
    SINGLE,
    ProviderHints,
    TopologyHint,
)
from cpuplan.upstream.kubelet.topologymanager.scope import AFFINITY_ERROR
from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.pod import CPU, MEMORY, Container, Pod

_PROBE = "probe"
#: Requests above the largest one that are tried to explain it: more than the threads of a core.
_SIZES = 8
#: How the kubelet's text about a part of a core begins, for which a whole one may be admitted.
_PART_OF_CORE = "SMT Alignment Error: requested"
#: Next to no memory.
_MEMORY = quantity.of(1)


def probe(cpus: int, uid: str = _PROBE, container: str = _PROBE) -> Pod:
    """A Guaranteed pod of one container."""
    resources = {CPU: quantity.of(cpus), MEMORY: _MEMORY}
    return Pod(uid, (), (Container(container, resources, resources),), name=uid)


def largest(
    allocator: Allocator, most: int, within: int, make: Callable[[int], Pod] = probe
) -> int:
    """The largest request from `most` down whose CPUs come from `within`, by pods of `make`."""
    moment = allocator.take()
    for count in range(most, 0, -1):
        fits = _fits(allocator, make(count), within)
        allocator.restore(moment)
        if fits:
            return count
    return 0


def _fits(allocator: Allocator, pod: Pod, within: int) -> bool:
    if allocator.admit(pod).refused:
        return False
    (placed,) = allocator.place(pod)
    return not (placed.is_exclusive and placed.cpus & ~within)


def because(allocator: Allocator, kubelet: Kubelet, size: int, free: int) -> str:
    """What refuses a request above `size`, the largest; empty if no more CPUs are free.

    Requests of a part of a core are only tried if no larger one is refused for another reason.
    """
    moment = allocator.take()
    reason = ""
    for count in range(size + 1, min(size + _SIZES, free.bit_count()) + 1):
        refused = allocator.admit(probe(count)).refused
        allocator.restore(moment)
        if refused:
            reason = _reason(kubelet, refused, count)
        if refused and not refused.message.startswith(_PART_OF_CORE):
            return reason
    return reason


def _reason(kubelet: Kubelet, refused: Refusal, count: int) -> str:
    """A refusal in words of the configuration."""
    policy = kubelet.topology_manager.policy.name
    if refused.message.startswith(_PART_OF_CORE):
        return f"full-pcpus-only admits whole cores only, not {count} CPUs"
    if refused.reason == AFFINITY_ERROR and policy == SINGLE:
        return f"no NUMA node has {count} free CPUs, which topologyManagerPolicy {SINGLE} requires"
    if refused.reason == AFFINITY_ERROR:
        nodes = "as few NUMA nodes as on an empty machine"
        return f"topologyManagerPolicy {policy} requires {count} free CPUs on {nodes}"
    if refused.reason == f"OutOf{CPU}":
        return f"the requests of all pods leave fewer CPUs: {refused.message}"
    return f"{refused.reason}: {refused.message}"


def left(allocator: Allocator, kubelet: Kubelet, free: int) -> Left:
    """What further containers could have of the CPUs `free`."""
    policy = kubelet.cpus.policy
    nodes = policy.topology.numa_nodes if policy else {}
    manager = kubelet.topology_manager.policy.name
    sizes = {node: (free & cpus).bit_count() for node, cpus in nodes.items()}
    most = max(sizes.values(), default=0) if manager == SINGLE else free.bit_count()
    by_node: dict[int, tuple[int, int | None]] = {
        node: (
            free & cpus,
            _largest_on(allocator, kubelet, sizes[node], cpus, node) if manager != NONE else None,
        )
        for node, cpus in nodes.items()
    }
    size = largest(allocator, most, free)
    return Left(free, size, by_node, because(allocator, kubelet, size, free))


def _largest_on(allocator: Allocator, kubelet: Kubelet, most: int, within: int, node: int) -> int:
    """The same for a container with a device on a NUMA node."""
    hint: ProviderHints = {"device": [TopologyHint(1 << node, preferred=True)]}
    devices = kubelet.devices
    devices.hints[_PROBE, _PROBE], devices.pod_hints[_PROBE] = hint, hint
    try:
        return largest(allocator, most, within)
    finally:
        devices.hints.clear()
        devices.pod_hints.clear()
        kubelet.topology_manager.forget(_PROBE)
