"""Where containers may have exclusive CPUs, by the topology manager's policy and scope."""

from cpuplan.upstream.kubelet.cpu.hints import generate_cpu_topology_hints
from cpuplan.upstream.kubelet.cpu.policy_static import StaticPolicy
from cpuplan.upstream.kubelet.pods.pod import Container, Pod
from cpuplan.upstream.kubelet.pods.qos import guaranteed_cpus, pod_guaranteed_cpus
from cpuplan.upstream.kubelet.topology.policy import BEST_EFFORT, NONE, POD, SINGLE


class Regions:
    """Regions are sets of CPUs; a container's CPUs are within one of its regions."""

    def __init__(self, static: StaticPolicy, policy_name: str, scope: str) -> None:
        self.static, self.policy_name, self.scope = static, policy_name, scope

    def group(self, pod: Pod, container: Container) -> str:
        """Containers of a group are in the same region."""
        return pod.uid if self.scope == POD else f"{pod.uid}/{container.name}"

    def allowed(self, pod: Pod, container: Container) -> tuple[int, ...]:
        """Anywhere, unless the topology manager refuses what it does not prefer."""
        if self.policy_name in (NONE, BEST_EFFORT):
            return (self.static.allocatable,)
        return self.preferred(pod, container)

    def preferred(self, pod: Pod, container: Container) -> tuple[int, ...]:
        """What preferred hints stand for, on a machine without any exclusive CPUs yet."""
        static = self.static
        count = pod_guaranteed_cpus(pod, static.gates) if self.scope == POD else 0
        count = count or guaranteed_cpus(pod, container, static.gates)
        by_socket = static.options.align_by_socket
        hints = generate_cpu_topology_hints(
            static.topology, static.allocatable, 0, count, align_by_socket=by_socket
        )
        masks = [hint.affinity or 0 for hint in hints if hint.preferred]
        if self.policy_name == SINGLE:
            masks = [mask for mask in masks if mask.bit_count() == 1]
        return tuple(dict.fromkeys(static.aligned(mask) & static.allocatable for mask in masks))
