"""Mixed CPUs: containers with exclusive CPUs may use the shared pool beside them. Who uses it, and
the kubelet's file.

OpenShift's kubelet reads the file once, at its start, and advertises
workload.openshift.io/enable-shared-cpus (openshift/kubernetes, pkg/kubelet/sharedcpus).
"""

from collections.abc import Iterator, Sequence

from cpuplan import versions
from cpuplan.components.reasons import stated_or, unasked
from cpuplan.diagnostics import Diagnostic, Reason, diagnose
from cpuplan.emit import to_json
from cpuplan.plan import NodePlan
from cpuplan.setting import Setting, Value
from cpuplan.source import Locate

NAME = "mixedcpus"
PATH = "/etc/kubernetes/openshift-workload-mixed-cpus"
_LIMIT = "shared_cpus.containers_limit"


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


def settings(plan: NodePlan) -> Iterator[Setting]:
    """How many containers of the node may share; other platforms than OpenShift have no such
    file.
    """
    if are_used(plan) and plan.node_class.target.platform == "openshift":
        limit = plan.spec.runtime.containers_limit
        default = unasked(plan, "containers-limit", NAME, _LIMIT)
        because = stated_or(
            plan, f"up to {limit} containers may share", "runtime.containersLimit", default
        )
        yield Setting(NAME, _LIMIT, limit, (reason(plan), because))


def render(settings: Sequence[Setting]) -> str:
    """The file's JSON."""
    limits = {setting.key.partition(".")[2]: setting.value for setting in settings}
    return to_json({"shared_cpus": limits})


def parse(text: str) -> dict[str, Value]:
    """The keys below `shared_cpus`; a file without them allows no container, so nothing is said."""
    import json

    data = json.loads(text)
    limits = data.get("shared_cpus") if isinstance(data, dict) else None
    return (
        {f"shared_cpus.{key}": value for key, value in limits.items()}
        if isinstance(limits, dict)
        else {}
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
