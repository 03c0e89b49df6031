"""How much memory containers and pods request (memorymanager/policy_static.go). Sizes are bytes."""

from cpuplan.upstream.kubelet.errors import KubeletError
from cpuplan.upstream.kubelet.pods.pod import Container, Pod, Resources, is_memory
from cpuplan.upstream.kubelet.pods.qos import is_equivalent_guaranteed
from cpuplan.upstream.kubelet.releases.features import Gates


def container_requests(pod: Pod, container: Container, gates: Gates) -> dict[str, int]:
    """A container's memory and huge pages, by type (getContainerRequestedResources)."""
    if (
        gates.enabled("PodLevelResourceManagers")
        and pod.has_own_resources
        and not is_equivalent_guaranteed(container)
    ):
        return {}
    return _memory_of(container.requests)


def _memory_of(requests: Resources) -> dict[str, int]:
    for kind, size in requests.items():
        if is_memory(kind) and not size.is_whole:
            raise KubeletError("[memorymanager] failed to represent quantity as int64")
    return {kind: size.value for kind, size in requests.items() if is_memory(kind)}


def pod_requests(pod: Pod, gates: Gates) -> dict[str, int]:
    """What the pod needs at once, by type (getPodRequestedResources).

    Only types that its app containers request.
    """
    if gates.enabled("PodLevelResourceManagers") and pod.has_own_resources:
        return {kind: size for kind, size in _memory_of(pod.requests or {}).items() if size > 0}
    init: dict[str, int] = {}
    sidecars: dict[str, int] = {}
    for container in pod.init_containers:
        for kind, size in container_requests(pod, container, gates).items():
            if container.is_restartable:
                sidecars[kind] = sidecars.get(kind, 0) + size
            else:
                init[kind] = max(init.get(kind, 0), sidecars.get(kind, 0) + size)
    total: dict[str, int] = {}
    for container in pod.containers:
        for kind, size in container_requests(pod, container, gates).items():
            total[kind] = total.get(kind, 0) + size
    return {
        kind: max(size + sidecars.get(kind, 0), init.get(kind, 0)) for kind, size in total.items()
    }


def validate_pod_scope_resources(pod: Pod, gates: Gates) -> None:
    """KubeletError where containers would find no memory left in the pod's share.

    These are the containers without exclusive memory.
    """
    total = pod_requests(pod, gates)
    long_running: dict[str, int] = {}
    is_shared = False
    for container in pod.all_containers:
        own = container_requests(pod, container, gates)
        if container.is_plain_init:
            _check_init(total, long_running, own)
            continue
        is_shared = is_shared or not own
        for kind, size in own.items():
            long_running[kind] = long_running.get(kind, 0) + size
    for kind, size in sorted(total.items()):
        if is_shared and long_running.get(kind, 0) >= size:
            text = f"sum of exclusive container {kind} requests equals pod budget"
            raise KubeletError(f"pod rejected, {text}, leaving no memory for shared containers")


def _check_init(total: dict[str, int], long_running: dict[str, int], own: dict[str, int]) -> None:
    for kind, size in sorted(total.items()):
        used = long_running.get(kind, 0)
        if not own and used >= size:
            raise KubeletError(
                f"pod rejected, pod has shared init containers but no {kind} available for them"
            )
