"""Pools and settings for which Koordinator has no place."""

from collections.abc import Iterator

from cpuplan.components import isolation
from cpuplan.components.reasons import is_written, stated
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.language.model.vocabulary import PARTITION
from cpuplan.plan import NodePlan

#: (field of the intent, what is wrong with it, what to do).
Problem = tuple[str, str, str]
_KUBELET = "or use mechanism: kubelet"
_BALLOONS = "or use mechanism: balloons"


def check(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP630 at each statement that cannot hold."""
    for field, problem, hint in (*_of_target(plan), *_of_pools(plan), *_of_system(plan)):
        position = locate(plan.node_class.place(field))
        yield diagnose("CP630", position, field=field, problem=problem, hint=hint)


def _of_target(plan: NodePlan) -> Iterator[Problem]:
    node_class = plan.node_class
    if not node_class.platform.has_runtime_choice:
        field = node_class.target_field("platform")
        text = "cpuplan writes Koordinator's objects for kubernetes only"
        yield field, text, "use mechanism: kubelet"
    if plan.spec.kubelet.dynamic_resource_allocation:
        text = "a DRA driver gives out CPUs too"
        yield "kubelet.dynamicResourceAllocation", text, f"use false, {_KUBELET}"


def _of_pools(plan: NodePlan) -> Iterator[Problem]:
    if plan.pool("shared").cpus:
        text = "no container has shared CPUs beside exclusive ones; LS pods share what is free"
        yield "pools.shared", text, f"give its CPUs to another pool, {_KUBELET}"
    for pool in plan.sets:
        if pool.name.startswith(PARTITION) and pool.cpus:
            name = pool.name.removeprefix(PARTITION)
            text = "its pods may come to all isolated CPUs"
            yield f"pools.isolated.partitions.{name}", text, f"leave it out, {_BALLOONS}"
    for field, is_asked in (
        ("qos.bestEffort", plan.spec.qos.best_effort),
        ("qos.other", plan.spec.qos.other),
    ):
        if is_asked:
            text = "koordlet writes the CPUs of BestEffort and other pods as load and pods change"
            hint = "use koordinator.cpuSuppressThresholdPercent and classes of workloads"
            yield field, text, f"{hint}, {_BALLOONS}"
    because = stated(plan, "no load balancing", "isolation.domain")
    if isolation.kept_off(plan, "domain", because).cpus & plan.pool("isolated").cpus:
        text = "LS and BE pods share the isolated CPUs, and need load balancing there"
        yield "isolation.domain", text, f"use false, {_KUBELET}"


def _of_system(plan: NodePlan) -> Iterator[Problem]:
    name = plan.spec.koordinator.system_qos
    if name and not name.startswith("reserved."):
        text = f"{name} is no partition of reserved, so the kubelet counts its CPUs for pods"
        yield "koordinator.systemQos", text, "name one such as reserved.daemons"
    elif name and not plan.pool(name).cpus:
        text = f"the layout has no CPUs for {name}"
        yield "koordinator.systemQos", text, "add the partition to pools.reserved.partitions"
    if name and is_written(plan, "isolation.interrupts") and plan.spec.isolation.interrupts == name:
        text = f"{name} is for interrupts"
        yield "koordinator.systemQos", text, "name another partition"
