"""The largest container that would still be admitted: asked of an allocator, which is then as it was."""

from cpuplan.kubelet import quantity
from cpuplan.kubelet.node import Kubelet
from cpuplan.kubelet.pods.pod import CPU, MEMORY, Container, Pod
from cpuplan.kubelet.topology.hints import ProviderHints, TopologyHint
from cpuplan.kubelet.topology.policy import NONE, SINGLE
from cpuplan.simulate.allocators.base import Allocator, Left

_PROBE = "probe"
#: Next to no memory.
_MEMORY = quantity.of(1)


def probe(cpus: int, uid: str = _PROBE, container: str = _PROBE) -> Pod:
    """A Guaranteed pod of one container."""
    resources = {CPU: quantity.of(cpus), MEMORY: _MEMORY}
    return Pod(uid, (), (Container(container, resources, resources),), name=uid)


def largest(allocator: Allocator, most: int, within: int) -> int:
    """The largest request from `most` down whose CPUs come from `within`."""
    moment = allocator.take()
    for count in range(most, 0, -1):
        fits = _fits(allocator, probe(count), within)
        allocator.restore(moment)
        if fits:
            return count
    return 0


def _fits(allocator: Allocator, pod: Pod, within: int) -> bool:
    if allocator.admit(pod).refused:
        return False
    (placed,) = allocator.place(pod)
    return not (placed.is_exclusive and placed.cpus & ~within)


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
    return Left(free, largest(allocator, most, free), by_node)


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
