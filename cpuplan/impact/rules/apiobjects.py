"""Objects of the API that no setting of a class stands for: policies, namespaces, agents."""

from collections.abc import Iterator, Mapping
from typing import Any

from cpuplan.fleet import verification
from cpuplan.impact.impact import Step
from cpuplan.impact.rules.differences import Half
from cpuplan.impact.rules.table import RULES
from cpuplan.impact.sides import Object, ObjectId

_ADMISSION = (
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
)
#: The kinds that concern all nodes of a cluster in one way, with their rules.
OF_CLUSTER: Mapping[str, str] = {
    **dict.fromkeys(_ADMISSION, "admission"),
    "Namespace": "namespace",
}
#: The kinds of a class's agent; a changed pod template replaces the agent.
_AGENT = "DaemonSet"
#: The kinds whose objects other rules know by the settings or files of a class, or that no node
#: reads.
ELSEWHERE = frozenset(
    {
        "BalloonsPolicy",
        "ClusterColocationProfile",
        "ConfigMap",
        "KubeadmConfigTemplate",
        "KubeletConfig",
        "MachineConfig",
        "MachineConfigPool",
        "Node",
        "PerformanceProfile",
        "RuntimeClass",
        "Skyhook",
        "Tuned",
        "ClusterRole",
        "ClusterRoleBinding",
        "Job",
        "PodMonitor",
        "PrometheusRule",
        "Role",
        "RoleBinding",
        "SecurityContextConstraints",
        "ServiceAccount",
    }
)


def steps(before: Half, after: Half, cluster: str) -> Iterator[Step]:
    """What changed objects mean for the nodes of a class."""
    old, new = before.side.objects(cluster), after.side.objects(cluster)
    for identity in sorted(old.keys() | new.keys()):
        one, other = old.get(identity), new.get(identity)
        if _content(one) != _content(other):
            yield from _step(identity, one, other, before, after)


def _step(
    identity: ObjectId, one: Object | None, other: Object | None, before: Half, after: Half
) -> Iterator[Step]:
    because = f"{identity.kind} {identity.name}"
    agents = {verification.agent(half.key[1]) for half in (before, after) if half.key}
    if identity.kind in OF_CLUSTER:
        yield RULES[OF_CLUSTER[identity.kind]].step(because)
    elif identity.kind == _AGENT or identity.name in agents:
        if identity.name in agents:
            is_replaced = identity.kind == _AGENT and _template(one) != _template(other)
            yield RULES["agent" if is_replaced else "verification"].step(because)
    elif identity.kind not in ELSEWHERE:
        yield RULES["unknown-object"].step(because)


def _content(item: Object | None) -> Any:
    """An object without what only Argo CD and Flux read; a namespace's annotations count."""
    if item is None:
        return None
    data = {key: value for key, value in item.data.items() if key != "metadata"}
    own = item.data["metadata"]
    kept = {key: value for key, value in own.items() if key != "annotations"}
    given = own.get("annotations") or {}
    kept["annotations"] = {
        key: value for key, value in given.items() if not key.startswith("argocd.argoproj.io/")
    }
    return {**data, "metadata": kept}


def _template(item: Object | None) -> Any:
    return item.data["spec"].get("template") if item else None
