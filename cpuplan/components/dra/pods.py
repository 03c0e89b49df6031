"""What templates of a workload's pods must have beside their own fields.

Without the driver's mapping (KEP-5517) neither the scheduler nor the kubelet counts the CPUs of
claims: containers, or the pod, request and limit as many.
"""

from typing import Any

from cpuplan.components.dra import claims, driver, names
from cpuplan.components.dra.claims import Demand
from cpuplan.dra.names import INDIVIDUAL
from cpuplan.kubelet.pods.pod import CPU
from cpuplan.model.workloads import Workload
from cpuplan.plan import NodePlan

#: Only the QoS class: the claim counts as CPUs already.
OF_CLASS = "1m"


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
    spec["containers"] = [_container(plan, workload, demand) for demand in demands]
    references = [each for demand in demands for each in _references(plan, workload, demand)]
    spec["resourceClaims"] = references
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": workload.name}, "spec": spec}


def _container(plan: NodePlan, workload: Workload, demand: Demand) -> dict[str, Any]:
    accounting = plan.node_class.target.dra.accounting
    resources: dict[str, Any] = {}
    if accounting != "podResources":
        amount = str(demand.cpus) if accounting == "requests" else OF_CLASS
        resources = {"requests": {CPU: amount}, "limits": {CPU: amount}}
    used = [{"name": each["name"]} for each in _references(plan, workload, demand)]
    return {"name": demand.container, "resources": {**resources, "claims": used}}


def _references(plan: NodePlan, workload: Workload, demand: Demand) -> list[dict[str, str]]:
    """The claims of a container: no claim may be used by two containers."""
    count = len(claims.chunks(plan, workload.pool, demand.cpus))
    return [
        {
            "name": demand.container if number == 1 else f"{demand.container}-{number}",
            "resourceClaimTemplateName": claims.template_name(plan, workload, demand, number),
        }
        for number in range(1, count + 1)
    ]


def _milli(workload: Workload) -> int:
    """Thousandths of a CPU of all containers of a pod."""
    if workload.cpus is not None:
        return workload.cpus * 1000
    amounts = (
        container.requests.get(CPU) or container.limits.get(CPU)
        for container in claims.containers_of(workload)
    )
    return sum(amount.milli for amount in amounts if amount)
