"""What holds for a plan: what its intent says, else the default of its platform."""

from collections.abc import Mapping
from typing import Any

from cpuplan.language.model.vocabulary import ALIGNING
from cpuplan.plan import NodePlan, defaults


def is_on(plan: NodePlan, name: str) -> bool:
    """Whether the default `name` holds: as the intent switches it, else as its platform has it."""
    for switch in plan.spec.defaults:
        if name in (switch.enable, switch.disable):
            return name == switch.enable
    default = defaults.named(name)
    if default.on.includes(plan.node_class.platform):
        return True
    return default.real_time and real_time(plan)


def real_time(plan: NodePlan) -> bool:
    """Whether the workloads are real-time."""
    hinted = plan.spec.workload_hints.real_time
    return is_on(plan, "real-time") if hinted is None else hinted


def topology_policy(plan: NodePlan) -> str:
    """The topology manager's policy; where nobody chooses, the kubelet's own."""
    own = "best-effort" if is_on(plan, "topology-policy") else "none"
    return plan.spec.kubelet.topology_manager_policy or own


def reconcile_period(plan: NodePlan) -> str | None:
    """How often the CPU manager looks at cpusets; None for the kubelet's own period."""
    own = "5s" if is_on(plan, "reconcile-period") else None
    return plan.spec.kubelet.cpu_manager_reconcile_period or own


def memory_is_aligned(plan: NodePlan) -> bool:
    """Whether the memory manager has the policy Static by default."""
    return is_on(plan, "memory-manager") and topology_policy(plan) in ALIGNING


def kube_reserved(plan: NodePlan) -> Mapping[str, str]:
    """What is set aside for the kubelet and the runtime."""
    return _amounts(plan, "kubeReserved", plan.spec.kubelet.kube_reserved, "kube-reserved")


def system_reserved(plan: NodePlan) -> Mapping[str, str]:
    """What is set aside for system services."""
    return _amounts(plan, "systemReserved", plan.spec.kubelet.system_reserved, "system-reserved")


def eviction_hard(plan: NodePlan) -> Mapping[str, str]:
    """Below what pods are evicted at once; empty for the kubelet's own thresholds."""
    return _amounts(plan, "evictionHard", plan.spec.kubelet.eviction_hard, "eviction")


def _amounts(
    plan: NodePlan, field: str, given: Mapping[Any, str] | None, name: str
) -> Mapping[str, str]:
    if given is not None:
        return given
    return defaults.AMOUNTS[field] if is_on(plan, name) else {}
