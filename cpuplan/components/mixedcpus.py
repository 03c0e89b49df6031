"""Mixed CPUs: whether containers with exclusive CPUs may use the shared pool beside them."""

from collections.abc import Mapping
from typing import Any

from cpuplan.base.cpuset import cpus_text
from cpuplan.components import chosen
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.facts import versions
from cpuplan.facts.platforms import Feature
from cpuplan.facts.settings.crio import SHARED_CPUSET
from cpuplan.plan import NodePlan
from cpuplan.upstream.crio.cgmgr import DEFAULT_PERIOD
from cpuplan.upstream.kubernetes.durations import MICROSECOND, parse_duration
from cpuplan.upstream.kubernetes.errors import KubeletError

#: What a container asks for that wants shared CPUs.
RESOURCE = "workload.openshift.io/enable-shared-cpus"
_GATE = "MixedCPUsAllocation"
#: Feature sets with the gate.
_SETS: dict[str, Feature] = {
    "TechPreviewNoUpgrade": "gates.mixed_cpus_tech_preview",
    "DevPreviewNoUpgrade": "gates.mixed_cpus_dev_preview",
    "CustomNoUpgrade": "profile.mixed_cpus",
}


def are_used(plan: NodePlan) -> bool:
    """Whether containers may ask for shared CPUs: where they should, and the operator lets them."""
    return are_wanted(plan) and not are_dropped(plan)


def are_wanted(plan: NodePlan) -> bool:
    """Whether containers should share: where there is a shared pool, unless the intent says no."""
    wanted = plan.spec.runtime.mixed_cpus
    return bool(plan.pool("shared").cpus) and wanted is not False


def are_dropped(plan: NodePlan) -> bool:
    """Whether the node tuning operator ignores them, or the runtime is none that gives them out.

    The operator's gate is in no default feature set (openshift/api, MixedCPUsAllocation).
    """
    target = plan.node_class.target
    return target.runtime != "crio" or (target.is_profile and not _has_gate(plan))


def _has_gate(plan: NodePlan) -> bool:
    target, facts = plan.node_class.target, plan.node_class.cluster_facts
    if facts.enabled_feature_gates:
        is_enabled = _GATE in facts.enabled_feature_gates
        return is_enabled and versions.ships(target, "profile.mixed_cpus")
    return has_gate(target.version, _feature_set(plan))


def has_gate(release: str, feature_set: str) -> bool:
    """Whether the feature set of a cluster has the gate of the node tuning operator."""
    feature = _SETS.get(feature_set)
    return feature is not None and versions.operator_has(release, feature)


def _feature_set(plan: NodePlan) -> str:
    return plan.node_class.cluster_facts.feature_set or "Default"


def check(plan: NodePlan, locate: Locate) -> list[Diagnostic]:
    """Mixed CPUs without a pool to share, or with a CRI-O that does not know them."""
    place = plan.node_class.place
    target = plan.node_class.target
    if plan.spec.runtime.mixed_cpus and not plan.pool("shared").cpus:
        return [diagnose("CP530", locate(place("runtime.mixedCpus")))]
    if are_used(plan) and plan.spec.kubelet.dynamic_resource_allocation:
        return [diagnose("CP533", locate(place("kubelet.dynamicResourceAllocation")))]
    if are_wanted(plan) and are_dropped(plan) and versions.ships(target, "profile.mixed_cpus"):
        return [_behind_gate(plan, locate)]
    period = other_period(plan.spec.kubelet.configuration)
    if are_used(plan) and period and not chosen.has_cgroups_v1(plan):
        at = locate(place("kubelet.configuration.cpuCFSQuotaPeriod"))
        return [diagnose("CP567", at, period=period)]
    if are_used(plan) and not target.is_profile and not SHARED_CPUSET.is_known(target):
        since = versions.to_text(SHARED_CPUSET.since)
        version = f"{target.platform} {target.version}"
        return [diagnose("CP531", locate(place("pools.shared")), since=since, version=version)]
    return []


def other_period(given: Mapping[str, Any]) -> str:
    """The period of CPU quotas in fields of the kubelet where it is not the default.

    Empty without quotas too.
    """
    period = str(given.get("cpuCFSQuotaPeriod") or "")
    if not period or given.get("cpuCFSQuota") is False:
        return ""
    try:
        is_usual = parse_duration(period) == DEFAULT_PERIOD * MICROSECOND
    except KubeletError:
        return ""  # CP703
    return "" if is_usual else period


def _behind_gate(plan: NodePlan, locate: Locate) -> Diagnostic:
    """CP571: the operator ignores the shared pool."""
    node_class = plan.node_class
    sets = [name for name in _SETS if has_gate(node_class.target.version, name)]
    return diagnose(
        "CP571",
        locate(node_class.place(node_class.target_field("featureSet"))),
        feature_set=_feature_set(plan),
        cpus=cpus_text(plan.pool("shared").cpus),
        sets=" or ".join(sets),
    )
