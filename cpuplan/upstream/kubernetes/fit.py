"""Whether a pod fits on the node: the scheduler's rule, which the kubelet repeats.

From pkg/kubelet/lifecycle/predicate.go and pkg/scheduler/framework/plugins/noderesources/fit.go.

Upstream: kubernetes/kubernetes pkg/kubelet/lifecycle/predicate.go
  pkg/scheduler/framework/plugins/noderesources/fit.go @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

from collections.abc import Iterable, Mapping

from cpuplan.upstream.kubernetes.errors import AdmissionError
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import (
    CPU,
    HUGEPAGES,
    MEMORY,
    Pod,
    Resources,
    aggregate,
    is_pod_level,
    sum_of,
)
from cpuplan.upstream.kubernetes.quantity import ZERO, Quantity

EPHEMERAL_STORAGE = "ephemeral-storage"
#: The order in which resources are checked; others follow.
_FIRST = (CPU, MEMORY, EPHEMERAL_STORAGE)


def pod_requests(pod: Pod, gates: Gates) -> dict[str, Quantity]:
    """What a pod needs at once, its overhead included (resource helper, PodRequests).

    Resources that are requested for the pod replace the sum of its containers.
    """
    requests = aggregate(pod, "requests")
    if gates.enabled("PodLevelResources"):
        requests.update(
            {name: amount for name, amount in (pod.requests or {}).items() if is_pod_level(name)}
        )
    return sum_of((requests, pod.overhead))


def check_fit(
    pod: Pod, others: Iterable[Pod], allocatable: Mapping[str, Quantity], gates: Gates
) -> None:
    """AdmissionError for the first resource of which too little is left.

    CPUs are compared in thousandths, other resources in units.
    """
    running = list(others)
    used = sum_of(pod_requests(other, gates) for other in running)
    check_requests(pod_requests(pod, gates), used, len(running), allocatable)


def check_requests(
    requested: Resources, used: Resources, pods: int, allocatable: Mapping[str, Quantity]
) -> None:
    """The same for sums of requests: `used` by as many `pods` as run already."""
    most = allocatable.get("pods", ZERO).value
    if pods + 1 > most:
        raise _out_of("pods", 1, pods, most)
    for name in [*_FIRST, *sorted(name for name in requested if name not in _FIRST)]:
        amount, taken = amount_of(name, requested), amount_of(name, used)
        is_known = name in _FIRST or name in allocatable or name.startswith(HUGEPAGES)
        if is_known and 0 < amount > amount_of(name, allocatable) - taken:
            raise _out_of(name, amount, taken, amount_of(name, allocatable))


def amount_of(name: str, resources: Mapping[str, Quantity]) -> int:
    """How much of a resource there is: CPUs in thousandths, others in whole units."""
    amount = resources.get(name, ZERO)
    return amount.milli if name == CPU else amount.value


def _out_of(name: str, requested: int, used: int, capacity: int) -> AdmissionError:
    text = f"{name}, requested: {requested}, used: {used}, capacity: {capacity}"
    return AdmissionError(f"OutOf{name}", f"Node didn't have enough resource: {text}")
