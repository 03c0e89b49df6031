"""QoS classes and the number of exclusive CPUs (v1/helper/qos, cm/qos, cpumanager).

Upstream: kubernetes/kubernetes pkg/apis/core/v1/helper/qos/qos.go
  pkg/kubelet/cm/cpumanager/policy_static.go @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import CPU, MEMORY, Container, Pod, Resources, sum_of
from cpuplan.upstream.kubernetes.quantity import ZERO

GUARANTEED, BURSTABLE, BEST_EFFORT = "Guaranteed", "Burstable", "BestEffort"


def pod_qos(pod: Pod, gates: Gates) -> str:
    """The class in the pod's status, or else the computed one (GetPodQOS)."""
    return pod.given_qos or compute_pod_qos(pod, gates)


def compute_pod_qos(pod: Pod, gates: Gates) -> str:
    """The class by CPU and memory of all containers, or of the pod where it has resources."""
    if gates.enabled("PodLevelResources") and pod.requests is not None and pod.limits is not None:
        levels = [(pod.requests, pod.limits)]
        complete = not pod.limits or len(_counted(pod.limits)) == 2
    else:
        levels = [(container.requests, container.limits) for container in pod.all_containers]
        complete = all(len(_counted(limits)) == 2 for _, limits in levels)
    requests = sum_of(_counted(requests) for requests, _ in levels)
    limits = sum_of(_counted(limits) for _, limits in levels)
    if not requests and not limits:
        return BEST_EFFORT
    same = {name: amount.nano for name, amount in requests.items()} == {
        name: amount.nano for name, amount in limits.items()
    }
    return GUARANTEED if complete and same else BURSTABLE


def _counted(resources: Resources) -> Resources:
    return {
        name: resources[name]
        for name in (CPU, MEMORY)
        if name in resources and resources[name].nano > 0
    }


def is_equivalent_guaranteed(container: Container) -> bool:
    """Whether a container would be Guaranteed alone (IsContainerEquivalentQOSGuaranteed)."""
    requests, limits = container.requests, container.limits
    return all(
        requests.get(name, ZERO).nano == limits.get(name, ZERO).nano
        and name in limits
        and limits[name].nano
        for name in (CPU, MEMORY)
    )


def guaranteed_cpus(pod: Pod, container: Container, gates: Gates) -> int:
    """The exclusive CPUs of a container: a whole number that a Guaranteed pod requests, or 0.

    With managers for pods that have their own resources, these containers must be Guaranteed by
    themselves.
    """
    if pod_qos(pod, gates) != GUARANTEED:
        return 0
    if (
        gates.enabled("PodLevelResourceManagers")
        and pod.has_own_resources
        and not is_equivalent_guaranteed(container)
    ):
        return 0
    return _whole(container.requests)


def _whole(requests: Resources) -> int:
    cpus = requests.get(CPU, ZERO)
    return cpus.value if cpus.value * 1000 == cpus.milli else 0


def pod_guaranteed_cpus(pod: Pod, gates: Gates) -> int:
    """How many CPUs the pod needs at once for itself (podGuaranteedCPUs)."""
    if gates.enabled("PodLevelResourceManagers") and pod.has_own_resources:
        return _whole(pod.requests or {}) if pod_qos(pod, gates) == GUARANTEED else 0
    init = sidecars = 0
    for container in pod.init_containers:
        cpus = guaranteed_cpus(pod, container, gates)
        if container.is_restartable:
            sidecars += cpus
        else:
            init = max(init, sidecars + cpus)
    return max(
        init, sidecars + sum(guaranteed_cpus(pod, container, gates) for container in pod.containers)
    )


def validate_pod_scope_resources(pod: Pod, gates: Gates) -> None:
    """KubeletError where containers would find no CPUs left in the pod's set.

    These are the containers without exclusive CPUs.
    """
    total = pod_guaranteed_cpus(pod, gates)
    long_running, is_shared = 0, False
    for container in pod.all_containers:
        cpus = guaranteed_cpus(pod, container, gates)
        if not container.is_plain_init:
            long_running += cpus
            is_shared = is_shared or not cpus
        elif not cpus and long_running >= total:
            raise KubeletError(
                "pod rejected, pod has shared init containers but no cpus available for them"
            )
    if is_shared and long_running >= total:
        raise KubeletError(
            "pod rejected, sum of exclusive container cpu requests equals pod budget,"
            " leaving no cpus for shared containers"
        )
