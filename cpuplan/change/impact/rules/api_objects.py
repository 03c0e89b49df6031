"""Objects of the API that no setting of a class stands for: policies, namespaces, agents."""

from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from typing import Any

from cpuplan.change.impact.rule_table import RULES
from cpuplan.change.impact.rules.inputs import Half, listed, objects
from cpuplan.change.impact.snapshot import Object, ObjectId, Snapshot
from cpuplan.facts.settings.costs import Step
from cpuplan.fleet import class_names

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
        "DeviceClass",
        "KubeadmConfigTemplate",
        "KubeletConfig",
        "MachineConfig",
        "MachineConfigPool",
        "Node",
        "PerformanceProfile",
        "RuntimeClass",
        "Skyhook",
        "TopologyAwarePolicy",
        "Tuned",
        "ClusterRole",
        "ClusterRoleBinding",
        "Job",
        "NetworkPolicy",
        "PodMonitor",
        "PrometheusRule",
        "Role",
        "RoleBinding",
        "SecurityContextConstraints",
        "ServiceAccount",
    }
)


def steps(before: Half, after: Half, cluster: str) -> Iterator[Step]:
    """What changed objects mean for the nodes of a class; those of one rule together."""
    by_rule: dict[str, list[str]] = {}
    agents = {class_names.agent_name(half.key[1]) for half in (before, after) if half.key}
    for identity, is_replaced in _differing(before.side, after.side, cluster):
        rule = _rule(identity, agents, is_replaced=is_replaced)
        if rule:
            by_rule.setdefault(rule, []).append(f"{identity.kind} {identity.name}")
    for rule, names in by_rule.items():
        yield RULES[rule].step(listed(names))


@lru_cache(maxsize=8)
def _differing(
    before: Snapshot, after: Snapshot, cluster: str
) -> tuple[tuple[ObjectId, bool], ...]:
    """The objects that differ, and whether their pods are replaced: once for all classes."""
    old, new = objects(before, cluster), objects(after, cluster)
    differing = []
    for identity in sorted(old.keys() | new.keys()):
        was, now = old.get(identity), new.get(identity)
        if _content(was) != _content(now):
            is_replaced = identity.kind == _AGENT and _template(was) != _template(now)
            differing.append((identity, is_replaced))
    return tuple(differing)


def _rule(identity: ObjectId, agents: Collection[str], *, is_replaced: bool) -> str:
    """The rule of an object; "" where it concerns other nodes, or another module tells it."""
    if identity.kind in _ADMISSION and identity.name.startswith(class_names.AGENT):
        return "verification"  # what the tokens of agents may do
    if identity.kind in OF_CLUSTER:
        return OF_CLUSTER[identity.kind]
    if identity.name in agents:
        return "agent" if is_replaced else "verification"
    return "" if identity.kind in (*ELSEWHERE, _AGENT) else "unknown-object"


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
    return item.data.get("spec", {}).get("template") if item else None
