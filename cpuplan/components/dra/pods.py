"""What templates of a workload's pods must have beside their own fields.

Without the driver's mapping (KEP-5517) neither the scheduler nor the kubelet counts the CPUs of
claims: containers, or the pod, request and limit as many.
"""

from collections.abc import Iterable
from typing import Any

from cpuplan.components.dra import claims, driver, names
from cpuplan.components.dra.claims import Demand
from cpuplan.language.model.pools import Workload
from cpuplan.plan import NodePlan
from cpuplan.upstream.dra.api import INDIVIDUAL
from cpuplan.upstream.kubernetes.pod import CPU

#: Only the QoS class: the claim counts as CPUs already.
OF_CLASS = "1m"
#: What a pod calls its claims, numbered.
_CLAIM = "cpus"


def template(plan: NodePlan, workload: Workload) -> dict[str, Any]:
    """The pod's side of a workload's claims, to merge into its template."""
    demands = claims.demands_of(workload)
    spec: dict[str, Any] = {}
    if names.mode(plan) == INDIVIDUAL:
        spec["nodeSelector"] = driver.selector(plan)
    if plan.node_class.target.dra.accounting == "podResources":
        total = _milli(workload)
        amounts = {CPU: str(total // 1000) if total % 1000 == 0 else f"{total}m"}
        spec["resources"] = {"requests": amounts, "limits": dict(amounts)}
    used = _claims_by_container(plan, workload)
    spec["containers"] = [_container(plan, demand, used[demand.container]) for demand in demands]
    spec["resourceClaims"] = [
        {"name": name, "resourceClaimTemplateName": template}
        for templates in used.values()
        for name, template in templates.items()
    ]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": workload.name}, "spec": spec}


def _container(plan: NodePlan, demand: Demand, used: Iterable[str]) -> dict[str, Any]:
    accounting = plan.node_class.target.dra.accounting
    resources: dict[str, Any] = {}
    if accounting != "podResources":
        amount = str(demand.cpus) if accounting == "requests" else OF_CLASS
        resources = {"requests": {CPU: amount}, "limits": {CPU: amount}}
    own = [{"name": name} for name in used]
    return {"name": demand.container, "resources": {**resources, "claims": own}}


def _claims_by_container(plan: NodePlan, workload: Workload) -> dict[str, dict[str, str]]:
    """The templates of each container by the names that the pod has for its claims.

    No claim may be used by two containers: the driver refuses the second.
    """
    found: dict[str, dict[str, str]] = {}
    number = 0
    for demand in claims.demands_of(workload):
        own = found.setdefault(demand.container, {})
        for part in range(1, len(claims.chunks(plan, workload.pool, demand.cpus)) + 1):
            number += 1
            name = claims.template_name(plan, workload, demand, part)
            own[f"{_CLAIM}-{number}"] = name
    return found


def _milli(workload: Workload) -> int:
    """Thousandths of a CPU of all containers of a pod."""
    if workload.cpus is not None:
        return workload.cpus * 1000
    amounts = (
        container.requests.get(CPU) or container.limits.get(CPU)
        for container in claims.containers_of(workload)
    )
    return sum(amount.milli for amount in amounts if amount)
