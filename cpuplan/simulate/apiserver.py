"""The API server before a pod reaches a node: RuntimeClasses, and OpenShift's workloads.

A pod as it is printed has been there already: it stands for what it was made from, so that a
manifest gives one answer before and after admission.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from cpuplan.components import crio, runtimeclass
from cpuplan.facts import versions
from cpuplan.facts.versions import Version
from cpuplan.plan import NodePlan
from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes import runtimeclass as admission
from cpuplan.upstream.kubernetes.errors import AdmissionError, KubeletError
from cpuplan.upstream.kubernetes.json import UINT64, loads, map_of
from cpuplan.upstream.kubernetes.kube_features import LATEST
from cpuplan.upstream.kubernetes.pod import CPU, Container, Pod, Resources
from cpuplan.upstream.openshift import managed, managementcpusoverride
from cpuplan.upstream.openshift.managed import LIMIT, MANAGEMENT, RESOURCES
from cpuplan.upstream.openshift.managementcpusoverride import ALLOWED

#: RuntimeClasses of OpenShift's own operators, which are there where these are: sandboxed
#: containers, and the GPU operator.
_OF_OPERATORS = ("kata", "nvidia")
#: Namespaces of the platform, all of which may have managed pods.
PLATFORM = "openshift"
_AMOUNTS = map_of(UINT64)


class Surroundings(NamedTuple):
    """What is known of the clusters: objects in files beside the pods, and all planned classes.

    `namespaces` are annotations by name, `handlers` those of RuntimeClasses; `planned` are names of
    RuntimeClasses by cluster.
    """

    namespaces: Mapping[str, Mapping[str, str]] = MappingProxyType({})
    handlers: Mapping[str, str] = MappingProxyType({})
    planned: Mapping[str, frozenset[str]] = MappingProxyType({})


class ApiServer(NamedTuple):
    """The API server of a planned node's cluster.

    `own` is the RuntimeClass of the node, with CRI-O's `handler`; `elsewhere` are those of other
    nodes, `handlers` of others by name. Where the cluster is not `surveyed`, there may be more.
    """

    is_openshift: bool = False
    is_partitioned: bool = False
    own: str = ""
    handler: str = ""
    handlers: Mapping[str, str] = MappingProxyType({})
    elsewhere: frozenset[str] = frozenset()
    is_surveyed: bool = False
    namespaces: Mapping[str, Mapping[str, str]] = MappingProxyType({})
    release: Version = LATEST

    def surveyed(self, around: Surroundings, cluster: str) -> "ApiServer":
        """The same with all that is known of its cluster."""
        return self._replace(
            handlers={name: own for name, own in around.handlers.items() if name != self.own},
            elsewhere=around.planned.get(cluster, frozenset()) - {self.own, *around.handlers},
            is_surveyed=True,
            namespaces=around.namespaces,
        )

    def admit(self, pod: Pod) -> Pod:
        """The pod as it is stored, or as a kubelet makes a static one; AdmissionError refuses."""
        if managed.is_static(pod):
            return _as_run(pod, self.release) if self.is_partitioned else pod
        self._check_class(pod)
        if not self.is_openshift:
            return pod
        created = _as_created(pod, self.release) if self.is_partitioned else pod
        return managementcpusoverride.admit(
            created,
            self.annotations_of(pod.namespace),
            is_partitioned=self.is_partitioned,
            release=self.release,
        )

    def _check_class(self, pod: Pod) -> None:
        name = pod.runtime_class
        if name in self.elsewhere:
            problem = f"RuntimeClass {name} selects other nodes, so the scheduler never binds"
            raise AdmissionError("Unschedulable", f"{problem} the pod to this one")
        if self.lacks(name):
            admission.check(pod, ())

    def lacks(self, name: str) -> bool:
        """Whether the cluster has no RuntimeClass of the name, as far as anybody can know."""
        if not self.is_openshift or not name or name.startswith(_OF_OPERATORS):
            return False
        return self.is_surveyed and name not in {self.own, *self.handlers, *self.elsewhere}

    def handler_of(self, pod: Pod) -> str:
        """The handler of CRI-O that starts the pod; empty for one without the hooks of the plan."""
        given = self.handler if pod.runtime_class == self.own else None
        return given or self.handlers.get(pod.runtime_class, "")

    def annotations_of(self, namespace: str) -> Mapping[str, str]:
        """Those of a namespace; one that nobody has shown is taken for one of the platform's."""
        return self.namespaces.get(namespace, {ALLOWED: MANAGEMENT})

    def assumes(self, pod: Pod) -> bool:
        """Whether a pod is managed as far as nobody has shown its namespace."""
        if not self.is_partitioned or managed.is_static(pod) or managed.workload_of(pod) is None:
            return False
        is_known = pod.namespace in self.namespaces or pod.namespace.startswith(PLATFORM)
        return not is_known and _as_created(pod, self.release) is pod


def server_of(plan: NodePlan) -> ApiServer:
    """The API server of the plan's cluster, as far as the plan knows it."""
    is_openshift = plan.node_class.platform.forks_kubelet
    return ApiServer(
        is_openshift,
        is_openshift and plan.node_class.target.cpu_partitioning,
        runtimeclass.name(plan),
        plan.spec.runtime.handler if crio.has_handler(plan) else "",
        release=versions.kubernetes_version(plan.node_class.target) or LATEST,
    )


def classes_of(plans: Iterable[NodePlan]) -> dict[str, frozenset[str]]:
    """The names of all planned RuntimeClasses by cluster."""
    names: dict[str, set[str]] = {}
    for plan in plans:
        if own := server_of(plan).own:
            names.setdefault(plan.node_class.cluster, set()).add(own)
    return {cluster: frozenset(own) for cluster, own in names.items()}


def _as_run(pod: Pod, release: Version) -> Pod:
    """A static pod as the kubelet runs it; the mirror of one has requests from limits again."""
    name = managed.resource_name(managed.workload_of(pod) or "")

    def of_kubelet(container: Container) -> Container:
        if name not in container.requests:
            return container
        return container._replace(
            requests={key: amount for key, amount in container.requests.items() if key != CPU}
        )

    if not any(name in container.requests for container in pod.all_containers):
        return managed.modify_static_pod(pod, release)
    return pod._replace(
        init_containers=tuple(map(of_kubelet, pod.init_containers)),
        containers=tuple(map(of_kubelet, pod.containers)),
    )


def _as_created(pod: Pod, release: Version) -> Pod:
    """What the plugin made the pod from, if it has made it; else the pod itself.

    It has if it makes just this pod from it: a user may write whatever annotations.
    """
    workload = managed.workload_of(pod)
    if workload is None or not any(name.startswith(RESOURCES) for name in pod.annotations):
        return pod
    try:
        created = _created(pod, workload)
        again = managementcpusoverride.admit(
            created, {ALLOWED: workload}, is_partitioned=True, release=release
        )
        return created if _told(again) == _told(pod) else pod
    except KubeletError:
        return pod


def _created(pod: Pod, workload: str) -> Pod:
    annotations = {
        name: value for name, value in pod.annotations.items() if not name.startswith(RESOURCES)
    }

    def restored(container: Container) -> Container:
        return _with_cpu(container, workload, pod.annotations)

    return pod._replace(
        annotations=annotations,
        init_containers=tuple(map(restored, pod.init_containers)),
        containers=tuple(map(restored, pod.containers)),
    )


def _with_cpu(container: Container, workload: str, annotations: Mapping[str, str]) -> Container:
    """The container with the CPU request that stands in the workload's resource."""
    name, told = managed.resource_name(workload), annotations.get(f"{RESOURCES}{container.name}")
    if told is None or name not in container.requests:
        return container
    requests = dict(container.requests)
    limits = {key: amount for key, amount in container.limits.items() if key != name}
    requests[CPU] = _milli(requests.pop(name).value)
    if limit := loads(told, _AMOUNTS).get(LIMIT, 0):
        limits[CPU] = _milli(limit)
    return container._replace(requests=requests, limits=limits)


def _milli(number: int) -> quantity.Quantity:
    return quantity.parse(f"{number}m")


def _told(pod: Pod) -> object:
    """What the plugin decides of a pod: amounts of containers, and what CRI-O is told of them."""
    amounts = {
        name: loads(value, _AMOUNTS)
        for name, value in pod.annotations.items()
        if name.startswith(RESOURCES)
    }
    columns = [(own.requests, own.limits) for own in pod.all_containers]
    return amounts, [tuple(map(_numbers, pair)) for pair in columns]


def _numbers(resources: Resources) -> dict[str, int]:
    return {name: amount.nano for name, amount in resources.items() if amount.nano}
