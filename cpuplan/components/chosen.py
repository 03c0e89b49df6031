"""What holds for a plan: what its intent says, else the default of its platform."""

from collections.abc import Mapping
from typing import Any

from cpuplan.facts.settings import kubelet
from cpuplan.facts.settings.host import REAL_TIME
from cpuplan.facts.settings.row import Default, Row
from cpuplan.language.model.vocabulary import ALIGNING
from cpuplan.plan import NodePlan


def is_on(plan: NodePlan, default: Default) -> bool:
    """Whether a default holds: as the intent switches it, else as its platform has it."""
    for switch in plan.spec.defaults:
        if default.name in (switch.enable, switch.disable):
            return default.name == switch.enable
    if default.on.includes(plan.node_class.platform):
        return True
    return default.real_time and real_time(plan)


def real_time(plan: NodePlan) -> bool:
    """Whether the workloads are real-time."""
    hinted = plan.spec.workload_hints.real_time
    return is_on(plan, REAL_TIME) if hinted is None else hinted


def topology_policy(plan: NodePlan) -> str:
    """The topology manager's policy; where nobody chooses, the kubelet's own."""
    own = "best-effort" if is_on(plan, kubelet.TOPOLOGY_MANAGER_POLICY.default) else "none"
    return plan.spec.kubelet.topology_manager_policy or own


def reconcile_period(plan: NodePlan) -> str | None:
    """How often the CPU manager looks at cpusets; None for the kubelet's own period."""
    own = "5s" if is_on(plan, kubelet.RECONCILE_PERIOD.default) else None
    return plan.spec.kubelet.cpu_manager_reconcile_period or own


def memory_is_aligned(plan: NodePlan) -> bool:
    """Whether the memory manager has the policy Static by default."""
    return is_on(plan, kubelet.MEMORY_MANAGER) and topology_policy(plan) in ALIGNING


def exec_affinity(plan: NodePlan) -> str | None:
    """Where exec probes run, as the intent says: `first`, `none`, or nothing."""
    return plan.spec.runtime.exec_cpu_affinity


def sharing_limit(plan: NodePlan) -> int:
    """How many containers of a node may share CPUs."""
    return plan.spec.runtime.containers_limit


def amounts(plan: NodePlan, row: Row) -> Mapping[str, str]:
    """What is set aside for the kubelet or the system, or below what pods are evicted at once."""
    spec = plan.spec.kubelet
    given: Mapping[Row, Mapping[Any, str] | None] = {
        kubelet.KUBE_RESERVED: spec.kube_reserved,
        kubelet.SYSTEM_RESERVED: spec.system_reserved,
        kubelet.EVICTION_HARD: spec.eviction_hard,
    }
    own = kubelet.AMOUNTS[row] if is_on(plan, row.default) else {}
    amounts = given[row]
    return own if amounts is None else amounts
