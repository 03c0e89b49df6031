"""The kubelet of a partitioned node: which pods are managed, and static ones that become so.

Upstream: openshift/microshift deps/github.com/openshift/kubernetes/pkg/kubelet/managed/managed.go
  deps/github.com/openshift/kubernetes/pkg/kubelet/managed/cpu_shares.go
  deps/github.com/openshift/kubernetes/pkg/kubelet/config/file.go
  deps/github.com/openshift/kubernetes/pkg/kubelet/kubelet_node_status.go
  @ 8e16b12fda5b1dccc41a6de48b3e356cc7d5048b
"""

from collections.abc import Iterable, Mapping

from cpuplan.facts.versions import Version
from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.json import dump
from cpuplan.upstream.kubernetes.kube_features import LATEST, has_behaviour
from cpuplan.upstream.kubernetes.pod import CPU, MEMORY, Container, Pod
from cpuplan.upstream.kubernetes.quantity import ZERO, Quantity

#: `target.workload.openshift.io/management` makes a pod managed.
TARGET = "target.workload.openshift.io/"
#: `resources.workload.openshift.io/CONTAINER` has the amounts that CRI-O sets.
RESOURCES = "resources.workload.openshift.io/"
WARNING = "workload.openshift.io/warning"
#: How the names of the resources end that stand for CPU requests.
CAPACITY_SUFFIX = "workload.openshift.io/cores"
#: The one workload that the kubelet knows.
MANAGEMENT = "management"
SHARES, LIMIT = "cpushares", "cpulimit"
_GUARANTEED = "skipping pod CPUs requests modifications because it has guaranteed QoS class"
SHARES_PER_CPU = 1024
_LEAST_SHARES, MOST_SHARES = 2, 262144
_SOURCE, _API_SERVER = "kubernetes.io/config.source", "api"


def is_static(pod: Pod) -> bool:
    """Whether the kubelet has the pod from a file or a URL; the API server's copy is a mirror."""
    return pod.annotations.get(_SOURCE, _API_SERVER) != _API_SERVER


def workload_of(pod: Pod) -> str | None:
    """The workload that a managed pod names; None of others (IsPodManaged)."""
    for name in pod.annotations:
        if name.startswith(TARGET):
            return name.removeprefix(TARGET)
    return None


def resource_name(workload: str) -> str:
    return f"{workload}.{CAPACITY_SUFFIX}"


def milli_cpu_to_shares(milli: int) -> int:
    """cpu.shares of version 1 (MilliCPUToShares, also of cm/helpers_linux.go)."""
    return min(max(milli * SHARES_PER_CPU // 1000, _LEAST_SHARES), MOST_SHARES)


def capacity(cpus: int) -> Quantity:
    """How much of the resource a node with so many CPUs has (addManagementNodeCapacity)."""
    return quantity.of(cpus * 1000)


def modify_static_pod(pod: Pod, release: Version = LATEST) -> Pod:
    """A static pod as the kubelet of a release runs it on a partitioned node.

    One that cannot be changed without another QoS class is left as it is: CRI-O still gives it the
    CPUs of its workload (ModifyStaticPodForPinnedManagement, and its caller). Kubelets before 1.29
    leave limits alone, and change Guaranteed pods too.
    """
    workload = workload_of(pod)
    if workload is None:
        return pod
    has_limits = has_behaviour(release, "managed.limits")
    if has_limits and is_guaranteed(pod.init_containers) and is_guaranteed(pod.containers):
        return pod._replace(annotations={**without_workload(pod.annotations), WARNING: _GUARANTEED})
    annotations = dict(pod.annotations)
    try:
        containers = tuple(_modified(own, workload, annotations, release) for own in pod.containers)
        init = tuple(_modified(own, workload, annotations, release) for own in pod.init_containers)
    except KubeletError:
        return pod
    return pod._replace(annotations=annotations, containers=containers, init_containers=init)


def _modified(
    container: Container, workload: str, annotations: dict[str, str], release: Version
) -> Container:
    """The container without its CPU request, which `annotations` and the resource tell of."""
    has_cpu = CPU in container.requests
    has_memory = MEMORY in container.requests or MEMORY in container.limits
    if has_behaviour(release, "managed.bare_containers") and not has_cpu and not has_memory:
        return container
    for name, is_there in ((CPU, has_cpu), (MEMORY, has_memory)):
        if not is_there:
            raise KubeletError(f"managed container {container.name} does not have {name} requests")
    if has_behaviour(release, "managed.limits"):
        annotations[f"{RESOURCES}{container.name}"] = amounts(container)
        return moved(container, workload)
    unlimited = container._replace(limits=_without_cpu(container.limits))
    annotations[f"{RESOURCES}{container.name}"] = amounts(unlimited)
    of_cpu = {name: amount for name, amount in container.limits.items() if name == CPU}
    changed = moved(container, workload)
    return changed._replace(limits={**of_cpu, **changed.limits})


def amounts(container: Container) -> str:
    """The annotation's value: shares, and thousandths of a CPU where there is a limit."""
    told = {SHARES: milli_cpu_to_shares(container.requests[CPU].milli)}
    limit = container.limits.get(CPU, ZERO).milli
    return dump({**told, LIMIT: limit} if limit else told)


def moved(container: Container, workload: str) -> Container:
    """The container that requests the workload's resource in place of CPU.

    A thousandth of a CPU is one of it, so that it is a whole number.
    """
    request = container.requests[CPU]
    own = {resource_name(workload): quantity.of(request.milli, request.format)}
    return container._replace(
        requests={**_without_cpu(container.requests), **own},
        limits={**_without_cpu(container.limits), **own},
    )


def _without_cpu(resources: Mapping[str, Quantity]) -> dict[str, Quantity]:
    return {name: amount for name, amount in resources.items() if name != CPU}


def without_workload(annotations: Mapping[str, str]) -> dict[str, str]:
    """The annotations that say nothing of a workload."""
    return {
        name: value
        for name, value in annotations.items()
        if not name.startswith((TARGET, RESOURCES))
    }


def is_guaranteed(containers: Iterable[Container]) -> bool:
    """OpenShift's own rule: an absent request, or one of 0 CPUs, is not looked at."""
    for container in containers:
        for name in (CPU, MEMORY):
            limit = container.limits.get(name, ZERO).nano
            if not limit:
                return False
            request = container.requests.get(name)
            if request is None or (name == CPU and not request.nano):
                continue
            if request.nano != limit:
                return False
    return True
