"""Mixed CPUs: containers that use shared CPUs beside their exclusive ones.

OpenShift's API server admits and annotates (openshift/kubernetes,
openshift-kube-apiserver/admission/autoscaling/ mixedcpus), its kubelet offers the resource
(pkg/kubelet/sharedcpus), CRI-O widens the cpuset (`runtime.crio`).

Upstream: openshift/microshift
  deps/github.com/openshift/kubernetes/openshift-kube-apiserver/admission/autoscaling/mixedcpus/admission.go
  deps/github.com/openshift/kubernetes/pkg/kubelet/sharedcpus/sharedcpus.go
  @ 8e16b12fda5b1dccc41a6de48b3e356cc7d5048b
Upstream: cri-o/cri-o internal/runtimehandlerhooks/high_performance_hooks_linux.go
  @ f954a17e505f8931e91004403b5f5eac71ab6085
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from cpuplan.upstream.crio.cgmgr import DEFAULT_PERIOD, UNLIMITED, Cgroups, Layout
from cpuplan.upstream.crio.high_performance_hooks import Effects, Sandbox, Settings, Spec
from cpuplan.upstream.crio.releases import ENABLE, SHARED
from cpuplan.upstream.kubernetes.bits import parse_cpus, to_text
from cpuplan.upstream.kubernetes.errors import AdmissionError, KubeletError, PanicError
from cpuplan.upstream.kubernetes.json import Type, loads
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import CPU, Container, Pod, aggregate
from cpuplan.upstream.kubernetes.qos import GUARANTEED, pod_qos
from cpuplan.upstream.kubernetes.quantity import ZERO
from cpuplan.upstream.kubernetes.strconv import quote
from cpuplan.upstream.openshift.managed import MOST_SHARES, is_guaranteed, milli_cpu_to_shares

RESOURCE = "workload.openshift.io/enable-shared-cpus"
#: The annotation that lets a namespace's pods ask; its value means nothing.
ALLOWED = "workload.mixedcpus.openshift.io/allowed"
PLUGIN = "autoscaling.openshift.io/MixedCPUs"

_INT64 = Type("int64", "number")
_SHARED_CPUS = Type("sharedcpus.sharedCpus", "object", {"containers_limit": _INT64})
_CONFIG = Type("sharedcpus.Config", "object", {"shared_cpus": _SHARED_CPUS})
#: Microseconds: the least quota that the kubelet sets (cm/helpers_linux.go, MinQuotaPeriod).
_LEAST_QUOTA = 1000


class MixedContainer(NamedTuple):
    """What a container ends up with: CPUs as sets, times in microseconds (-1: no quota).

    `quota` is that of the cgroup its processes are in; on version 2, where CRI-O raises the quota
    of an inner cgroup only, `outer_quota` is the smaller one of its scope that still holds.
    `env` are the variables that CRI-O adds; `problem` is its text for a container that does not
    start.
    """

    name: str
    cpus: int
    exclusive: int
    env: tuple[str, ...] = ()
    shares: int = 0
    quota: int = UNLIMITED
    outer_quota: int = UNLIMITED
    effects: Effects = Effects()
    problem: str = ""


class MixedPod(NamedTuple):
    """A started pod; `files` are all CPU files of its cgroups."""

    containers: tuple[MixedContainer, ...]
    shares: int
    quota: int
    files: Mapping[str, str]


def _as_asked(spec: Spec) -> None:
    """Leaves what the kubelet asks for."""


class Node(NamedTuple):
    """The node that starts a pod; `mutate` changes what the kubelet asks for a container.

    `period` is the kubelet's cpuCFSQuotaPeriod in microseconds, None with cpuCFSQuota off.

    `pool` is the cpuset of containers without exclusive CPUs; 0 where the kubelet writes none.
    """

    settings: Settings
    layout: Layout
    period: int | None = DEFAULT_PERIOD
    pool: int = 0
    siblings: Mapping[int, str] = MappingProxyType({})
    mutate: Callable[[Spec], None] = _as_asked


def asking(pod: Pod) -> tuple[Container, ...]:
    """The containers that request the resource, init containers too."""
    return tuple(container for container in pod.all_containers if RESOURCE in container.requests)


def admit(pod: Pod, namespace_annotations: Mapping[str, str]) -> Pod:
    """The pod as the API server stores it, with an annotation for each container that asks.

    AdmissionError refuses it. Init containers, and annotations of containers that do not ask, are
    not looked at; 0 counts as asking; a request of 0 CPUs passes for Guaranteed (OpenShift bugs).
    """
    annotations = dict(pod.annotations)
    for container in pod.containers:
        if RESOURCE not in container.requests:
            continue
        if ALLOWED not in namespace_annotations:
            what = (
                f"pod {pod.name} namespace {pod.namespace} is not allowed for {RESOURCE} "
                "resource request"
            )
            raise _forbidden(pod, what)
        asking = f"{pod.name}/{container.name}"
        if not is_guaranteed(pod.containers):
            what = f"requests for {quote(RESOURCE)} resource but pod is not Guaranteed QoS class"
            raise _forbidden(pod, f"{asking} {what}")
        if container.requests[RESOURCE].value > 1:
            what = (
                f"more than a single {quote(RESOURCE)} resource is forbiden, please set the "
                "request to 1 or remove it"
            )
            raise _forbidden(pod, f"{asking} {what}")
        annotations[f"{SHARED}/{container.name}"] = ENABLE
    return pod._replace(annotations=annotations)


def _forbidden(pod: Pod, what: str) -> AdmissionError:
    return AdmissionError("Forbidden", f"pods {quote(pod.name)} is forbidden: {PLUGIN} {what}")


def containers_limit(text: str) -> int | None:
    """How many containers of a node may share, which the kubelet offers as a resource.

    Read from /etc/kubernetes/openshift-workload-mixed-cpus; None when the kubelet cannot read the
    file: it logs that and offers nothing.
    """
    try:
        limit: int = loads(text, _CONFIG).get("shared_cpus", {}).get("containers_limit", 0)
    except KubeletError:
        return None
    return limit


def start_pod(pod: Pod, exclusive: Mapping[str, int], node: Node, gates: Gates) -> MixedPod:
    """Creates and starts the containers of an admitted pod.

    `exclusive` has the CPUs of the containers that have exclusive ones, by name.
    """
    unlimited = node.period is None or _is_unlimited(pod, bool(exclusive), gates)
    limits = aggregate(pod, "limits").get(CPU, ZERO).milli
    quota = UNLIMITED if unlimited else milli_cpu_to_quota(limits, node.period or 0)
    written = "max" if node.layout.version == 2 and quota == UNLIMITED else str(quota)
    cgroups = Cgroups(
        node.layout, pod_cgroup(pod, node.layout, gates), written, node.period or DEFAULT_PERIOD
    )
    sandbox = Sandbox(node.settings, cgroups, pod.annotations, node.siblings)
    started = [
        _start(sandbox, container, exclusive.get(container.name, 0), node, gates)
        for container in pod.all_containers
    ]
    shares = milli_cpu_to_shares(aggregate(pod, "requests").get(CPU, ZERO).milli)
    return MixedPod(tuple(started), shares, cgroups.quota(cgroups.pod), cgroups.files)


def _start(
    sandbox: Sandbox, container: Container, own: int, node: Node, gates: Gates
) -> MixedContainer:
    cpus = own or node.pool
    spec = _spec(container, cpus, own, node, gates)
    try:
        node.mutate(spec)
        cpus = parse_cpus(spec.cpus)
        sandbox.create(spec)
        sandbox.start(spec)
    except (KubeletError, PanicError) as error:
        return MixedContainer(container.name, cpus, own, problem=str(error))
    inside = sandbox.cgroups.containers(container.name)
    quotas = [sandbox.cgroups.quota(path) for path in inside]
    shared = sandbox.shared_of(spec)
    return MixedContainer(
        container.name,
        cpus | shared,
        own & ~shared,
        tuple(spec.env[len(container.env) :]),
        spec.shares or 0,
        quotas[-1],
        min((quota for quota in quotas if quota != UNLIMITED), default=UNLIMITED),
        sandbox.effects(spec),
    )


def _spec(container: Container, cpus: int, own: int, node: Node, gates: Gates) -> Spec:
    """What the kubelet asks of the runtime."""
    limit = container.limits.get(CPU, ZERO).milli
    unlimited = not limit or (own and gates.enabled("DisableCPUQuotaWithExclusiveCPUs"))
    quota = UNLIMITED if unlimited else milli_cpu_to_quota(limit, node.period or 0)
    shares = milli_cpu_to_shares(container.requests.get(CPU, ZERO).milli)
    if node.period is None:
        quota = 0
    return Spec(container.name, to_text(cpus), shares, quota, node.period or 0, container.env)


def _is_unlimited(pod: Pod, has_exclusive: bool, gates: Gates) -> bool:
    """Whether the pod has no quota: a container without a limit, or with exclusive CPUs."""
    if not all(CPU in container.limits for container in pod.all_containers):
        return True
    return has_exclusive and gates.enabled("DisableCPUQuotaWithExclusiveCPUs")


def pod_cgroup(pod: Pod, layout: Layout, gates: Gates) -> str:
    """The path of a pod's cgroup (cm/cgroup_manager_linux.go)."""
    qos = pod_qos(pod, gates)
    class_name = "" if qos == GUARANTEED else qos.lower()
    if layout.driver != "systemd":
        return "/".join(filter(None, ("kubepods", class_name, f"pod{pod.uid}")))
    prefix = f"kubepods-{class_name}" if class_name else "kubepods"
    above = "kubepods.slice" + (f"/{prefix}.slice" if class_name else "")
    return f"{above}/{prefix}-pod{pod.uid.replace('-', '_')}.slice"


def milli_cpu_to_quota(milli: int, period: int) -> int:
    """Microseconds in each period (cm/helpers_linux.go, MilliCPUToQuota)."""
    return max(milli * period // 1000, _LEAST_QUOTA) if milli else 0


def shares_to_weight(shares: int) -> int:
    """cpu.weight of version 2 that the kubelet sets for a pod (getCPUWeight).

    Container runtimes since autumn 2025 convert by another curve for the container, which only
    compares containers of one pod.
    """
    return 10000 if shares >= MOST_SHARES else 1 + (shares - 2) * 9999 // 262142
