"""Mixed CPUs: whether containers with exclusive CPUs may use the shared pool beside them."""

from cpuplan import versions
from cpuplan.components.reasons import stated_or, unasked
from cpuplan.diagnostics import Diagnostic, Reason, diagnose
from cpuplan.plan import NodePlan
from cpuplan.source import Locate


def are_used(plan: NodePlan) -> bool:
    """Whether containers may ask for shared CPUs: where there is a shared pool, unless the intent
    says no.
    """
    wanted = plan.spec.runtime.mixed_cpus
    return bool(plan.pool("shared").cpus) and wanted is not False


def reason(plan: NodePlan) -> Reason:
    """Why they are used."""
    text = "containers may use shared CPUs beside exclusive ones"
    return stated_or(
        plan, text, "runtime.mixedCpus", unasked(plan, "mixed-cpus", "crio", "shared_cpuset")
    )


def check(plan: NodePlan, locate: Locate) -> list[Diagnostic]:
    """Mixed CPUs without a pool to share, or with a CRI-O that does not know them."""
    place = plan.node_class.place
    target = plan.node_class.target
    if plan.spec.runtime.mixed_cpus and not plan.pool("shared").cpus:
        return [diagnose("CP530", locate(place("runtime.mixedCpus")))]
    if are_used(plan) and plan.spec.kubelet.dynamic_resource_allocation:
        return [diagnose("CP533", locate(place("kubelet.dynamicResourceAllocation")))]
    if are_used(plan) and not versions.has(target, "crio.shared_cpuset"):
        since = versions.to_text(versions.FEATURES["crio.shared_cpuset"])
        version = f"{target.platform} {target.version}"
        return [diagnose("CP531", locate(place("pools.shared")), since=since, version=version)]
    return []
