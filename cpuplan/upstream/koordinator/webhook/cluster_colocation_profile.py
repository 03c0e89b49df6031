"""Admission of pods.

Upstream: koordinator-sh/koordinator pkg/webhook/pod/validating/cluster_colocation_profile.go
  @ 989ca85c62abcca92b303aa12fd2ccff2ed30fed
"""

from collections.abc import Iterator

from cpuplan.upstream.koordinator.extension import qos
from cpuplan.upstream.koordinator.extension.constants import BATCH_CPU, BATCH_MEMORY, PRIORITY, QOS
from cpuplan.upstream.kubernetes.fit import pod_requests
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import CPU, Pod, aggregate
from cpuplan.upstream.kubernetes.quantity import ZERO
from cpuplan.upstream.kubernetes.strconv import quote

_GATES = Gates()
_REQUESTS = "pod.spec.containers[*].resources.requests"
#: Classes of priority that a QoS class cannot have.
_FORBIDDEN = {
    qos.BE: (qos.NONE, qos.PROD),
    qos.LSR: (qos.NONE, qos.MID, qos.BATCH, qos.FREE),
}


def refusals(pod: Pod, old: Pod | None = None, *, may_change_priority: bool = False) -> list[str]:
    """What the webhook says against a pod, or against a change of `old`; its exact texts.

    With `may_change_priority` (gate ColocationProfileSkipValidatingPriority) the label may change.
    """
    problems: list[str] = []
    if old is not None:
        problems += _changes(pod, old, may_change_priority=may_change_priority)
    problems += _required_class(pod)
    problems += _combination(pod)
    problems += _whole_cpus(pod)
    return list(dict.fromkeys(problems))


def _changes(pod: Pod, old: Pod, *, may_change_priority: bool) -> Iterator[str]:
    fields = [
        (f"labels.{QOS}", qos.given_qos(pod), qos.given_qos(old)),
        ("spec.priority", qos.given_priority_class(pod), qos.given_priority_class(old)),
    ]
    if not may_change_priority:
        fields.append((f"labels.{PRIORITY}", pod.labels.get(PRIORITY, ""), _priority(old)))
    for where, new, before in fields:
        if new != before:
            yield f"{where}: Invalid value: {quote(new)}: field is immutable"


def _priority(pod: Pod) -> str:
    return pod.labels.get(PRIORITY, "")


def _required_class(pod: Pod) -> Iterator[str]:
    requests = pod_requests(pod, _GATES)
    is_colocated = any(requests.get(name, ZERO).nano for name in (BATCH_CPU, BATCH_MEMORY))
    if is_colocated and qos.given_qos(pod) != qos.BE:
        yield (
            f"labels.{QOS}: Required value: must specify koordinator QoS BE with koordinator"
            " colocation resources"
        )


def _combination(pod: Pod) -> Iterator[str]:
    label, priority = qos.given_qos(pod), qos.given_priority_class(pod)
    if priority in _FORBIDDEN.get(label, ()):
        yield (
            f"Pod: Forbidden: {QOS}={label} and priorityClass={priority} cannot be used in"
            " combination"
        )


def _whole_cpus(pod: Pod) -> Iterator[str]:
    """LSE pods are checked too, but the texts call them LSR."""
    if qos.given_qos(pod) not in (qos.LSE, qos.LSR):
        return
    cpus = pod_requests(pod, _GATES).get(CPU, ZERO)
    if not cpus.nano:
        yield f"{_REQUESTS}: Required value: LSR Pod must declare the requested CPUs"
    elif cpus.value * 1000 != cpus.milli:
        yield (
            f"{_REQUESTS}: Invalid value: {quote(str(cpus))}: the requested CPUs of LSR Pod must"
            " be integer"
        )


def keeps_proposal(pod: Pod) -> bool:
    """What the proposal demands of LSE and LSR pods, and the webhook only in part.

    Requests equal limits, in whole CPUs (QoS principle 1).
    """
    requests, limits = (
        aggregate(pod, column).get(CPU, ZERO).milli for column in ("requests", "limits")
    )
    return requests == limits and requests > 0 and requests % 1000 == 0
