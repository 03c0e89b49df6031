"""CPUs for a whole pod, divided among its containers (AllocatePod; KEP-5526)."""

from cpuplan.upstream.kubelet.cpu.policy_static import StaticPolicy
from cpuplan.upstream.kubelet.cpu.state import CPUState
from cpuplan.upstream.kubelet.errors import AdmissionError, KubeletError
from cpuplan.upstream.kubelet.pods.pod import Pod
from cpuplan.upstream.kubelet.pods.qos import (
    guaranteed_cpus,
    pod_guaranteed_cpus,
    validate_pod_scope_resources,
)
from cpuplan.upstream.kubelet.topology.hints import TopologyHint


def allocate_pod(policy: StaticPolicy, state: CPUState, pod: Pod, affinity: TopologyHint) -> None:
    """Takes one set for the pod and divides it; other containers share the rest of the set.

    KubeletError refuses the pod; the shared pool has then lost the set, or not, as in the kubelet.
    """
    count = pod_guaranteed_cpus(pod, policy.gates)
    if count == 0:
        return
    try:
        validate_pod_scope_resources(pod, policy.gates)
    except KubeletError as error:
        raise AdmissionError("EmptyPodSharedPoolError", str(error)) from None
    policy.enforce_smt_alignment(state, count)
    bubble = policy.allocate_cpus(state, count, affinity.affinity, 0)
    state.pod_entries[pod.uid] = bubble
    assigned = _partition(policy, pod, bubble)
    for name, cpus in assigned.items():
        state.set_cpus(pod.uid, name, cpus)


def _partition(policy: StaticPolicy, pod: Pod, bubble: int) -> dict[str, int]:
    """The CPUs of each container by name.

    Init containers may use every CPU that no earlier sidecar has.
    """
    assigned: dict[str, int] = {}
    left = bubble
    for container in pod.init_containers:
        count = guaranteed_cpus(pod, container, policy.gates)
        if count:
            assigned[container.name] = policy.take_by_topology(left, count)
            if container.is_restartable:
                left &= ~assigned[container.name]
        elif not container.is_restartable:
            assigned[container.name] = left
    for container in pod.containers:
        count = guaranteed_cpus(pod, container, policy.gates)
        if count:
            assigned[container.name] = policy.take_by_topology(left, count)
            left &= ~assigned[container.name]
    return {container.name: assigned.get(container.name, left) for container in pod.all_containers}
