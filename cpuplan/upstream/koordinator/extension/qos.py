"""QoS classes and priority classes of pods.

Upstream: koordinator-sh/koordinator apis/extension/qos.go apis/extension/qos_utils.go
  apis/extension/priority.go apis/extension/priority_utils.go
  pkg/scheduler/plugins/nodenumaresource/util.go @ 989ca85c62abcca92b303aa12fd2ccff2ed30fed
"""

from cpuplan.upstream.koordinator.extension.constants import PRIORITY_CLASS, QOS
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import Pod
from cpuplan.upstream.kubernetes.qos import BURSTABLE, GUARANTEED, pod_qos

LSE, LSR, LS, BE, SYSTEM, NONE = "LSE", "LSR", "LS", "BE", "SYSTEM", ""
CLASSES = (LSE, LSR, LS, BE, SYSTEM)
PROD, MID, BATCH, FREE = "koord-prod", "koord-mid", "koord-batch", "koord-free"
#: (lowest, highest, default) priority of each class.
PRIORITIES = {
    PROD: (9000, 9999, 9500),
    MID: (7000, 7999, 7500),
    BATCH: (5000, 5999, 5500),
    FREE: (3000, 3999, 3500),
}
_GATES = Gates()


def given_qos(pod: Pod) -> str:
    """The class of the pod's label, NONE for no class or an unknown one; case counts."""
    label = pod.labels.get(QOS, "")
    return label if label in CLASSES else NONE


def kube_qos(pod: Pod) -> str:
    """The class of Kubernetes."""
    return pod_qos(pod, _GATES)


def default_qos(kubernetes: str) -> str:
    """The class of a pod without the label, by its Kubernetes class: for accounting only."""
    return {GUARANTEED: LSR, BURSTABLE: LS}.get(kubernetes, BE)


def qos_of(pod: Pod) -> str:
    """The class of the label, else the one that Kubernetes' class stands for."""
    return given_qos(pod) or default_qos(kube_qos(pod))


def given_priority_class(pod: Pod) -> str:
    """The class of the pod's label, or else of its priority; NONE for anything unknown."""
    if PRIORITY_CLASS in pod.labels:
        label = pod.labels[PRIORITY_CLASS]
        return label if label in PRIORITIES else NONE
    for name, (lowest, highest, _) in PRIORITIES.items():
        if lowest <= pod.priority <= highest:
            return name
    return NONE


def priority_class_of(pod: Pod) -> str:
    """The class of the label or the priority, else the one that the QoS class stands for."""
    return given_priority_class(pod) or (BATCH if qos_of(pod) == BE else PROD)


def priority_of(pod: Pod) -> int:
    """The pod's priority, else the usual one of its class."""
    return pod.priority or PRIORITIES[priority_class_of(pod)][2]


def may_bind_cpus(pod: Pod) -> bool:
    """Whether the scheduler binds the pod to CPUs of its own (AllowUseCPUSet).

    Only the label counts: a Guaranteed pod without it is never bound.
    """
    return given_qos(pod) in (LSE, LSR) and priority_class_of(pod) == PROD
