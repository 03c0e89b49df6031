"""The admission plugin that takes the CPU requests of the platform's own pods away.

Upstream: openshift/microshift
  deps/github.com/openshift/kubernetes/openshift-kube-apiserver/admission/autoscaling/managementcpusoverride/admission.go
  @ 8e16b12fda5b1dccc41a6de48b3e356cc7d5048b
"""

from collections.abc import Mapping, Sequence

from cpuplan.facts.versions import Version
from cpuplan.upstream.kubernetes.errors import AdmissionError, AggregateError, KubeletError
from cpuplan.upstream.kubernetes.json import STRING, dump, loads, map_of
from cpuplan.upstream.kubernetes.kube_features import LATEST, has_behaviour
from cpuplan.upstream.kubernetes.pod import CPU, MEMORY, Container, Pod
from cpuplan.upstream.kubernetes.qos import BEST_EFFORT, BURSTABLE, GUARANTEED
from cpuplan.upstream.kubernetes.quantity import ZERO
from cpuplan.upstream.kubernetes.strconv import quote
from cpuplan.upstream.openshift.managed import (
    CAPACITY_SUFFIX,
    RESOURCES,
    SHARES,
    TARGET,
    WARNING,
    amounts,
    is_guaranteed,
    is_static,
    moved,
    without_workload,
)

PLUGIN = "autoscaling.openshift.io/ManagementCPUsOverride"
#: The annotation of a namespace that lists the workloads its pods may name.
ALLOWED = "workload.openshift.io/allowed"
EFFECT = "effect"
#: What warnings contain of a pod that stays as it is; the other is of Guaranteed ones.
NOT_ALLOWED = f"not annotated with {ALLOWED} to allow workload partitioning"
HAS_LIMIT = "pod container has both CPU limit and request"
OTHER_CLASS = "it will change the pod QoS class"
#: What errors contain; others are about the effect.
NOT_LISTED = "does not allow the workload type"
SEVERAL = "the pod can not have more than one workload annotations"
NO_WORKLOAD = "the pod without workload annotations can not have containers with workload resources"
PREFERRED = "PreferredDuringScheduling"
_MINIMAL = f'{{"{SHARES}": 2}}'
_EFFECTS = map_of(STRING)


def admit(
    pod: Pod,
    namespace: Mapping[str, str],
    *,
    is_partitioned: bool,
    release: Version = LATEST,
) -> Pod:
    """The pod as the API server stores it, with its requests from limits; AdmissionError refuses.

    `namespace` are the annotations of its namespace. Whatever a user wrote of a workload is taken
    away, and comes back only where the pod becomes managed; WARNING says why it does not. A single
    node without a partitioned Infrastructure, which has the resource, counts as partitioned.
    """
    if is_static(pod):
        return pod
    stored = _mutate(pod, namespace, release, is_partitioned=is_partitioned)
    _validate(stored)
    return stored


def _mutate(
    pod: Pod, namespace: Mapping[str, str], release: Version, *, is_partitioned: bool
) -> Pod:
    bare = pod._replace(annotations=without_workload(pod.annotations))
    workload = _workload(pod)
    if not workload or not is_partitioned:
        return bare
    if ALLOWED not in namespace:
        return _warned(
            bare,
            f"skipping pod CPUs requests modifications because the {pod.namespace} namespace is "
            f"{NOT_ALLOWED}",
        )
    if workload not in namespace[ALLOWED].split(","):
        what = f"the pod namespace {quote(pod.namespace)} {NOT_LISTED}"
        forbidden = f"pods {quote(pod.name)} is forbidden: {PLUGIN} {what} {workload}"
        raise AdmissionError("Forbidden", forbidden)
    _check_effect(pod, pod.annotations[f"{TARGET}{workload}"])
    qos = _qos(bare)
    if qos == GUARANTEED:
        return _warned(
            bare, "skip pod CPUs requests modifications because it has guaranteed QoS class"
        )
    has_limit = any(CPU in container.limits for container in bare.all_containers)
    if has_limit and not has_behaviour(release, "managed.limits"):
        return _warned(
            bare,
            f"skip pod CPUs requests modifications because {HAS_LIMIT}",
        )
    managed = _managed(bare, workload, qos)
    if (after := _qos(managed)) != qos:
        return _warned(
            bare,
            f"skip pod CPUs requests modifications because {OTHER_CLASS} from {qos} to {after}",
        )
    return managed


def _warned(pod: Pod, warning: str) -> Pod:
    return pod._replace(annotations={**pod.annotations, WARNING: warning})


def _workload(pod: Pod) -> str:
    """The workload that the pod names; empty without any."""
    names = [name for name in pod.annotations if name.startswith(TARGET)]
    if len(names) > 1:
        raise _invalid(pod, SEVERAL)
    if names == [TARGET]:
        key = f"the workload annotation key should have format {TARGET}<workload_type>"
        raise _invalid(pod, f"{key}, when <workload_type> is non empty string")
    return names[0].removeprefix(TARGET) if names else ""


def _check_effect(pod: Pod, value: str) -> None:
    """AdmissionError unless the annotation's value is `{"effect": "PreferredDuringScheduling"}`."""
    try:
        effect = _effect(value)
    except KubeletError as error:
        raise _invalid(pod, f"failed to get workload annotation effect: {error}") from None
    if effect != PREFERRED:
        raise _invalid(pod, f"only {quote(PREFERRED)} effect is supported")


def _effect(value: str) -> str:
    try:
        told: dict[str, str] = loads(value, _EFFECTS)
    except KubeletError as error:
        text = f"failed to parse {quote(value)} annotation value: {error}"
        raise KubeletError(text) from None
    pairs = " ".join(f"{quote(key)}:{quote(told[key])}" for key in sorted(told))
    if len(told) > 1:
        raise KubeletError(f"the workload annotation value map[{pairs}] has more than one key")
    if EFFECT not in told:
        what = f"does not have {quote(EFFECT)} key"
        raise KubeletError(f"the workload annotation value map[{pairs}] {what}")
    return told[EFFECT]


def _managed(pod: Pod, workload: str, qos: str) -> Pod:
    """The pod without CPU requests, which CRI-O is told of (updatePodResources)."""
    annotations = dict(pod.annotations)
    init = tuple(_override(own, workload, qos, annotations) for own in pod.init_containers)
    containers = tuple(_override(own, workload, qos, annotations) for own in pod.containers)
    annotations[f"{TARGET}{workload}"] = dump({EFFECT: PREFERRED})
    return pod._replace(init_containers=init, containers=containers, annotations=annotations)


def _override(
    container: Container, workload: str, qos: str, annotations: dict[str, str]
) -> Container:
    if qos == BEST_EFFORT:
        annotations[f"{RESOURCES}{container.name}"] = _MINIMAL
        return container
    if CPU not in container.requests:
        return container
    annotations[f"{RESOURCES}{container.name}"] = amounts(container)
    return moved(container, workload)


def _qos(pod: Pod) -> str:
    """The plugin's own rule (getPodQoSClass)."""
    if is_guaranteed(pod.all_containers):
        return GUARANTEED
    return BURSTABLE if any(map(_asks, pod.all_containers)) else BEST_EFFORT


def _asks(container: Container) -> bool:
    return any(
        column.get(name, ZERO).nano
        for name in (CPU, MEMORY)
        for column in (container.limits, container.requests)
    )


def _validate(pod: Pod) -> None:
    """AdmissionError for resources of a workload that the stored pod does not name."""
    if any(name.startswith(TARGET) for name in pod.annotations):
        return
    last = {
        name: container
        for container in pod.all_containers
        for name in container.requests
        if name.endswith(CAPACITY_SUFFIX)
    }
    problems = [
        _shown(
            "spec.containers.resources.requests",
            last[name].requests,
            f"{NO_WORKLOAD} {quote(name)}",
        )
        for name in sorted(last)
    ]
    if problems:
        raise _invalid_pod(pod, problems)


def _invalid(pod: Pod, message: str) -> AdmissionError:
    return _invalid_pod(pod, [_shown("metadata.Annotations", pod.annotations, message)])


def _shown(field: str, value: Mapping[str, object], message: str) -> str:
    texts = {name: str(value[name]) for name in sorted(value)}
    return f"{field}: Invalid value: {dump(texts)}: {message}"


def _invalid_pod(pod: Pod, problems: Sequence[str]) -> AdmissionError:
    text = f"Pod {quote(pod.name)} is invalid: {AggregateError(problems)}"
    return AdmissionError("Invalid", text)
