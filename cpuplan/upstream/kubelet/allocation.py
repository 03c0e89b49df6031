"""What keeps the kubelet from resizing a running container (pkg/kubelet/allocation/handlers.go).

Upstream: kubernetes/kubernetes pkg/kubelet/allocation/handlers.go
  @ 008b3652959ca58af8be3fb5b6ecfe9ae7638282
"""

from collections.abc import Mapping
from typing import Any

from cpuplan.upstream.kubernetes.kube_features import Gates, has_behaviour, specs
from cpuplan.upstream.kubernetes.pod import CPU, MEMORY, Container, Pod
from cpuplan.upstream.kubernetes.qos import BURSTABLE, GUARANTEED, pod_qos
from cpuplan.upstream.openshift.managed import is_static

RESIZE = "InPlacePodVerticalScaling"
EXCLUSIVE_CPUS = "InPlacePodVerticalScalingExclusiveCPUs"
EXCLUSIVE_MEMORY = "InPlacePodVerticalScalingExclusiveMemory"
#: What can be resized.
RESOURCES = (CPU, MEMORY)
#: Priorities from here on are critical (scheduling, SystemCriticalPriority).
_CRITICAL = 2_000_000_000


def infeasible(
    pod: Pod, container: Container, resource: str, config: Mapping[str, Any], gates: Gates
) -> str:
    """Why no resize of a resource is feasible, in the kubelet's words; empty where one may be."""
    if not gates.enabled(RESIZE):
        return f"{RESIZE} is disabled"
    if is_static(pod):
        return "In-place resize of static-pods is not supported"
    if resource == MEMORY and _has_swap(pod, container, config, gates):
        return "In-place resize of containers with swap is not supported."
    if pod_qos(pod, gates) != GUARANTEED or not has_behaviour(gates.version, "resize.exclusive"):
        return ""
    manager, policy, wanted = "CPU", config.get("cpuManagerPolicy"), "static"
    if resource == MEMORY:
        manager, policy, wanted = "Memory", config.get("memoryManagerPolicy"), "Static"
    if policy != wanted or gates.enabled(gate_of(resource, gates)):
        return ""
    return f'Resize is infeasible for Guaranteed Pods alongside {manager} Manager policy "{policy}"'


def gate_of(resource: str, gates: Gates) -> str:
    """The gate that allows it beside a static manager: memory has one of its own since 1.34."""
    has_own = resource == MEMORY and specs(EXCLUSIVE_MEMORY, gates.version)
    return EXCLUSIVE_MEMORY if has_own else EXCLUSIVE_CPUS


def _has_swap(pod: Pod, container: Container, config: Mapping[str, Any], gates: Gates) -> bool:
    """Whether a resize would change swap: a container has some that does not restart for it.

    Swap is for Burstable pods that are not critical, whose containers request less than their limit
    (kuberuntime, GetContainerSwapBehavior). It takes no part in admission.
    """
    behaviour = (config.get("memorySwap") or {}).get("swapBehavior", "")
    if behaviour != "LimitedSwap" or not gates.enabled("NodeSwap"):
        return False
    restarts = dict(container.resize_policy).get(MEMORY) == "RestartContainer"
    request, limit = container.requests.get(MEMORY), container.limits.get(MEMORY)
    is_fixed = request is None or (limit is not None and request.nano == limit.nano)
    is_burstable = pod_qos(pod, gates) == BURSTABLE and pod.priority < _CRITICAL
    return is_burstable and not is_fixed and not restarts
