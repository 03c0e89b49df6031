"""A stand-in for the device manager."""

from cpuplan.upstream.kubelet.pods.pod import Container, Pod
from cpuplan.upstream.kubelet.topology.hints import ProviderHints, TopologyHint


class Devices:
    """Hints as they are given for each pod; nothing is allocated."""

    def __init__(self) -> None:
        self.hints: dict[tuple[str, str], ProviderHints] = {}
        self.pod_hints: dict[str, ProviderHints] = {}

    def topology_hints(self, pod: Pod, container: Container) -> ProviderHints | None:
        return self.hints.get((pod.uid, container.name))

    def pod_topology_hints(self, pod: Pod) -> ProviderHints | None:
        return self.pod_hints.get(pod.uid)

    def allocate(self, pod: Pod, container: Container, affinity: TopologyHint) -> None:
        """Devices are always there."""

    def allocate_pod(self, pod: Pod, affinity: TopologyHint) -> None:
        """Devices are always there."""
