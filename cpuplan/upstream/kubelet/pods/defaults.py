"""The API server's defaults of pod resources (pkg/apis/core/v1/defaults.go, SetDefaults_Pod)."""

from cpuplan.upstream.kubelet.pods.pod import (
    HUGEPAGES,
    Container,
    Pod,
    Resources,
    aggregate,
    is_pod_level,
)
from cpuplan.upstream.kubelet.quantity import Quantity
from cpuplan.upstream.kubelet.releases.features import Gates


def apply_defaults(pod: Pod, gates: Gates) -> Pod:
    """Requests from limits, for the pod as a whole too, and nothing finer than thousandths.

    Restartable init containers are plain ones where the API server does not know them.
    """
    if not gates.enabled("SidecarContainers"):
        pod = pod.without_sidecars()
    pod = pod._replace(
        init_containers=tuple(_default_requests(container) for container in pod.init_containers),
        containers=tuple(_default_requests(container) for container in pod.containers),
    )
    if pod.requests is None or pod.limits is None:
        return pod
    pod = pod._replace(requests=_rounded(pod.requests), limits=_rounded(pod.limits))
    if not gates.enabled("PodLevelResources"):
        return pod
    pod = pod._replace(limits=_default_huge_page_pod_limits(pod))
    return pod._replace(requests=_default_pod_requests(pod))


def _default_requests(container: Container) -> Container:
    limits = _rounded(container.limits)
    return container._replace(limits=limits, requests={**limits, **_rounded(container.requests)})


def _rounded(resources: Resources) -> Resources:
    return {name: amount.round_up_milli() for name, amount in resources.items()}


def _default_huge_page_pod_limits(pod: Pod) -> Resources:
    """Limits on huge pages are those of the containers, where the pod says nothing of that size."""
    limits: dict[str, Quantity] = dict(pod.limits or {})
    for name, amount in aggregate(pod, "limits").items():
        if name.startswith(HUGEPAGES) and name not in (pod.requests or {}):
            limits.setdefault(name, amount)
    return limits


def _default_pod_requests(pod: Pod) -> Resources:
    """The pod's requests: those of the containers, else its limits; unchanged without limits."""
    requests: dict[str, Quantity] = dict(pod.requests or {})
    if not pod.limits:
        return requests
    for name, amount in aggregate(pod, "requests").items():
        if is_pod_level(name) and not name.startswith(HUGEPAGES):
            requests.setdefault(name, amount)
    for name, amount in pod.limits.items():
        if is_pod_level(name):
            requests.setdefault(name, amount)
    return requests
