"""What holds for a plan, and why: its intent says so, or its platform, hardware or release."""

from collections.abc import Mapping
from typing import Any

from cpuplan.base.cpuset import CpuSet
from cpuplan.diagnostics import Reason
from cpuplan.facts import versions
from cpuplan.facts.settings import kubelet
from cpuplan.facts.settings.host import REAL_TIME
from cpuplan.facts.settings.row import Default, Row
from cpuplan.language.model.vocabulary import ALIGNING
from cpuplan.plan import NodePlan, boot_arguments
from cpuplan.upstream.linux import kernel_parameters


def has_cgroups_v1(plan: NodePlan) -> bool:
    """Whether the nodes of a plan have control groups of version 1.

    All nodes of a cluster have, or the intent has a boot argument for it.
    """
    is_asked = kernel_parameters.cgroup_version(boot_arguments.own(plan.node_class)) == 1
    return is_asked or plan.node_class.cluster_facts.cgroup_mode == "v1"


def are_cgroups_v1_planned(plan: NodePlan) -> bool:
    """Whether nodes are to have control groups of version 1.

    Of a cluster with pools its configuration says it, and no argument of a plan.
    """
    if plan.node_class.platform.has_pools:
        return plan.node_class.cluster_facts.cgroup_mode == "v1"
    return has_cgroups_v1(plan)


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


#: The origin of a setting that nobody asked for.
DEFAULT = "default"


def as_listed(plan: NodePlan, name: str, cpus: CpuSet) -> CpuSet:
    """The CPUs, printed as the adopted profile lists those of a pool if they are the same."""
    written: CpuSet | None = getattr(plan.node_class.target.profile.lists, name)
    return written if written is not None and written == cpus else cpus


def as_operator_lists(plan: NodePlan, cpus: CpuSet) -> CpuSet:
    """The same of isolated CPUs, where the operator of the release copies their list for TuneD."""
    is_copied = versions.ships(plan.node_class.target, "profile.isolated_as_written")
    return as_listed(plan, "isolated", cpus) if is_copied else cpus


def stated(plan: NodePlan, text: str, field: str) -> Reason:
    """The reason `text` at `field` (a path below `spec`, as in YAML), which the intent writes."""
    return plan.node_class.reason(text, field)


def unasked(plan: NodePlan, default: Default) -> Reason:
    """The reason of a default; at its line where the intent enables it."""
    for index, switch in enumerate(plan.spec.defaults):
        if switch.enable == default.name:
            return plan.node_class.reason(default.reason, f"defaults.{index}")
    if default.real_time and not default.on.includes(plan.node_class.platform):
        return plan.node_class.reason(default.reason, "workloadHints.realTime")
    return Reason(default.reason, DEFAULT)


def asked_or(plan: NodePlan, default: Default) -> Reason:
    """The reason of the field that decides about a default where the intent writes it, else its."""
    return stated_or(plan, default.asked, default.field, unasked(plan, default))


def of_release(plan: NodePlan) -> Reason:
    """What the node tuning operator of the target's release does, which later ones do not."""
    version = plan.node_class.target_field("version")
    text = f"the node tuning operator of {plan.node_class.target.version} sets it"
    return plan.node_class.reason(text, version)


def of_mode(plan: NodePlan, text: str) -> Reason:
    """What the target's mode needs."""
    return plan.node_class.reason(text, plan.node_class.target_field("mode"))


def of_mechanism(plan: NodePlan, text: str = "") -> Reason:
    """What follows from the target's mechanism; by default that an NRI policy gives CPUs."""
    text = text or f"the NRI {plan.node_class.target.mechanism} policy gives CPUs to containers"
    return plan.node_class.reason(text, plan.node_class.target_field("mechanism"))


def stated_or(plan: NodePlan, text: str, field: str, default: Reason) -> Reason:
    """The reason `text` at `field` where the intent writes it, else the default's."""
    return plan.node_class.reason(text, field) if is_written(plan, field) else default


def of_hardware(plan: NodePlan, text: str, field: str = "") -> Reason:
    """A fact of the inventory."""
    return Reason(text, plan.node_class.hardware_place(field))


def is_written(plan: NodePlan, field: str) -> bool:
    """Whether the intent itself gives `field`, and not a default.

    Raises ValueError where intents have no such field: what no one can write is not a default.
    """
    from cpuplan.language.model import base, field_paths

    if not field_paths.is_field("Intent", field):
        raise ValueError(f"Intent has no field spec.{field}")
    value: object = plan.spec
    for key in field.split("."):
        if isinstance(value, tuple) and key.isdigit():
            value = value[int(key)]
        elif not isinstance(value, base.Model):
            return True
        elif not base.has_key(value, key):
            return False
        else:
            value = getattr(value, base.attributes(type(value))[key])
    return True
