"""Pods whose containers have CPUs of their own under the static policy, as others want them.

The static policy goes by the shape of a pod: Guaranteed, with whole CPUs. The NRI policies do so
too; Koordinator's scheduler wants a label, and a DRA driver wants claims.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from cpuplan.plan import NodePlan
from cpuplan.simulate import apiserver
from cpuplan.simulate.dra.inputs import claiming
from cpuplan.simulate.manifests import Item
from cpuplan.simulate.mechanisms.promises import DRA, KOORDINATOR
from cpuplan.upstream.koordinator.extension import qos
from cpuplan.upstream.koordinator.extension.constants import PRIORITY_CLASS, QOS
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import Pod
from cpuplan.upstream.kubernetes.qos import guaranteed_cpus

_GATES = Gates()


def has_own(pod: Pod) -> bool:
    """Whether the static policy gives a container of the pod CPUs of its own."""
    stored = apiserver.store(pod, _GATES)
    return any(guaranteed_cpus(stored, one, _GATES) for one in stored.all_containers)


def adapted(items: Sequence[Item], mechanism: str, plan: NodePlan) -> list[Item]:
    """The pods with what the mechanism wants beside their shape, where they lack it.

    Claims are made for the devices of `plan`.
    """
    adapt = _ADAPT.get(mechanism)
    if adapt is None:
        return list(items)
    return [
        item._replace(pod=adapt(item.pod, plan)) if has_own(item.pod) else item for item in items
    ]


def is_served(pod: Pod, mechanism: str) -> bool:
    """Whether the mechanism gives a container of the pod CPUs of its own, by what it goes by."""
    if mechanism == KOORDINATOR:
        return qos.given_qos(pod) in (qos.LSE, qos.LSR)
    if mechanism == DRA:
        return any(container.claims for container in pod.all_containers)
    return has_own(pod)


def wanted(mechanism: str) -> str:
    """What pods with CPUs of their own need beside their shape; empty for nothing."""
    return WANTED.get(mechanism, "")


def _claiming(pod: Pod, plan: NodePlan) -> Pod:
    """The pod with claims; one that has claims keeps them."""
    return pod if pod.claims else claiming(plan, apiserver.store(pod, _GATES))


def _labelled(pod: Pod, _plan: NodePlan) -> Pod:
    """The pod of class LSE; one that has a class keeps it."""
    if pod.labels.get(QOS):
        return pod
    return pod._replace(labels={PRIORITY_CLASS: qos.PROD, **pod.labels, QOS: qos.LSE})


_ADAPT: Mapping[str, Callable[[Pod, NodePlan], Pod]] = MappingProxyType(
    {KOORDINATOR: _labelled, DRA: _claiming}
)
WANTED: Mapping[str, str] = MappingProxyType(
    {
        KOORDINATOR: f"the labels {QOS}: {qos.LSE} and {PRIORITY_CLASS}: {qos.PROD}",
        DRA: "resource claims",
    }
)
