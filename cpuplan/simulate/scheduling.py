"""What keeps a pod off a node before its kubelet sees it: the scheduler's filter of resources."""

from types import MappingProxyType
from typing import NamedTuple

from cpuplan.upstream.kubernetes.errors import AdmissionError
from cpuplan.upstream.kubernetes.fit import check_requests, pod_requests
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import HUGEPAGES, Pod, Resources, sum_of
from cpuplan.upstream.kubernetes.quantity import ZERO


class Load(NamedTuple):
    """The number of pods on a node, and the sum of their requests."""

    pods: int = 0
    requests: Resources = MappingProxyType({})

    def plus(self, requests: Resources) -> "Load":
        """The load with one more pod."""
        return Load(self.pods + 1, sum_of((self.requests, requests)))

    def fits(self, requests: Resources, allocatable: Resources) -> bool:
        """Whether the scheduler would bind a pod with these requests to the node."""
        try:
            check_requests(requests, self.requests, self.pods, allocatable)
        except AdmissionError:
            return False
        return True


def lacks_pages(pod: Pod, allocatable: Resources, gates: Gates) -> str:
    """Why the scheduler binds no pod with these huge pages to the node; empty if it may.

    A kubelet with the memory manager would crash, but the scheduler never binds such a pod.
    """
    for name, amount in sorted(pod_requests(pod, gates).items()):
        if name.startswith(HUGEPAGES) and amount.nano and not allocatable.get(name, ZERO).nano:
            return f"the node has no {name}, so the scheduler never binds the pod to it"
    return ""
