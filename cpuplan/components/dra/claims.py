"""ResourceClaimTemplates of the intent's workloads, and what templates of their pods must have.

Without the driver's mapping (KEP-5517) neither the scheduler nor the kubelet counts the CPUs of
claims: containers, or the pod, request and limit as many.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from cpuplan.base.cpuset import CpuSet, union
from cpuplan.components.dra import classes, driver
from cpuplan.components.emission import emit, parse_by_key, render_by_key
from cpuplan.facts.settings import objects as rows
from cpuplan.language.model.pools import Workload
from cpuplan.language.read.pods import template_of
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Setting, from_plain, plain
from cpuplan.upstream.dra.api import (
    CACHE_L3_ID,
    CAPACITY,
    CORE_ID,
    DRIVER,
    GROUPED,
    INDIVIDUAL,
    NUMA_NODE_ID,
    SOCKET_ID,
    STANDARD_NUMA_NODE,
)
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.pod import CPU, Container, read_pod

NAME = rows.RESOURCE_CLAIMS
KIND = "ResourceClaimTemplate"
#: Grouped devices alone: of a device without the capacity, as nodes of mode individual have, the
#: scheduler makes an error that ends its attempt (consumable_capacity.go, KEP-5075).
_HAS_CAPACITY = f'device.driver == "{DRIVER}" && "numCPUs" in device.attributes["{DRIVER}"]'
#: The container of a workload that is a number of CPUs.
_MAIN = "main"
_CLAIM = "cpus"


class Demand(NamedTuple):
    """A container of a workload's pod, and the CPUs that it claims."""

    container: str
    cpus: int


def settings(plan: NodePlan) -> Iterator[Setting]:
    """The spec of each template, by its name."""
    if not plan.node_class.target.has_dra:
        return
    for index, workload in enumerate(plan.spec.workloads):
        because = (plan.node_class.reason(f"pods of {workload.name}", f"workloads.{index}"),)
        for demand in demands_of(workload):
            for name, spec in templates(plan, workload, demand):
                yield from emit(plan, rows.RESOURCE_CLAIM, from_plain(spec), because, name=name)


def demands_of(workload: Workload) -> list[Demand]:
    """The containers with whole CPUs: those that the kubelet's static policy would have pinned."""
    if workload.cpus is not None:
        return [Demand(_MAIN, workload.cpus)]
    return [
        Demand(container.name, cpus)
        for container in containers_of(workload)
        if (cpus := whole_cpus(container))
    ]


def containers_of(workload: Workload) -> Sequence[Container]:
    template = template_of(workload.manifest)
    try:
        return read_pod(template[1]).containers if template else ()
    except KubeletError:
        return ()  # a manifest that is wrong has a diagnostic of its own


def whole_cpus(container: Container) -> int:
    """The CPUs of a container that requests whole ones; 0 for fractions, and for none."""
    amount = container.requests.get(CPU) or container.limits.get(CPU)
    return amount.value if amount and amount.milli % 1000 == 0 else 0


def templates(
    plan: NodePlan, workload: Workload, demand: Demand
) -> Iterator[tuple[str, dict[str, Any]]]:
    """(name, spec) of the templates for a container: several where a claim has too few devices."""
    for number, cpus in enumerate(chunks(plan, workload.pool, demand.cpus), start=1):
        yield template_name(plan, workload, demand, number), spec_of(plan, workload.pool, cpus)


def template_name(plan: NodePlan, workload: Workload, demand: Demand, number: int) -> str:
    """The name of a template, in the namespace of the workload."""
    parts = [plan.node_class.name, workload.name]
    parts += [demand.container] if workload.cpus is None else []
    # No workload or container has a dot in its name: no other template is called the same.
    return ".".join([*parts, *([str(number)] if number > 1 else [])])


def chunks(plan: NodePlan, pool: str, cpus: int) -> list[int]:
    """The CPUs of each claim of a container."""
    if driver.published_mode(plan) == GROUPED:
        return [cpus]
    most = most_cpus(plan, pool, cpus)
    return [min(most, cpus - taken) for taken in range(0, cpus, most)]


def most_cpus(plan: NodePlan, pool: str, cpus: int) -> int:
    """The CPUs that one claim can have: the API allows 32 devices and 32 conditions."""
    threads = plan.topology.threads_per_core
    if not by_cores(plan, pool, cpus):
        return driver.MOST_DEVICES
    own = len(_of_core(plan))
    aligned = 1 if plan.node_class.target.dra.align else 0
    cores = min(driver.MOST_DEVICES // threads, (driver.MOST_CONSTRAINTS - aligned) // own)
    return cores * threads


def by_cores(plan: NodePlan, pool: str, cpus: int) -> bool:
    """Whether claims ask for whole cores: where threads share cores, and there are enough."""
    threads = plan.topology.threads_per_core
    own = claimable(plan, pool)
    whole = own - union(plan.topology.split_cores(own))
    return threads > 1 and cpus % threads == 0 and len(whole) >= _claimed(plan, pool)


def _claimed(plan: NodePlan, pool: str) -> int:
    """The CPUs of all workloads of a pool, on as many NUMA nodes as there may be."""
    nodes = len(plan.topology.numa_nodes)
    return sum(
        workload.pods * (nodes if workload.per == "numaNode" else 1) * demand.cpus
        for workload in plan.spec.workloads
        if workload.pool == pool
        for demand in demands_of(workload)
    )


def claimable(plan: NodePlan, name: str) -> CpuSet:
    """The CPUs that claims for a pool can get."""
    known = {pool.name: pool.cpus for pool in classes.pools(plan)}
    online = plan.topology.online - plan.pool("offlined").cpus
    return known.get(name, online - driver.reserved(plan))


def _of_core(plan: NodePlan) -> list[str]:
    """What the threads of a core have in common; core ids repeat across sockets."""
    return [CORE_ID, SOCKET_ID] if len(plan.topology.sockets) > 1 else [CORE_ID]


def spec_of(plan: NodePlan, pool: str, cpus: int) -> dict[str, Any]:
    """What one claim for CPUs of a pool asks for; "" is any pool."""
    if driver.published_mode(plan) == GROUPED:
        return {"devices": {"requests": list(_of_groups(plan, cpus))}}
    devices: dict[str, Any] = {"requests": list(_of_cpus(plan, pool, cpus))}
    conditions = []
    if by_cores(plan, pool, cpus):
        for request in devices["requests"]:
            own = {"requests": [request["name"]]}
            conditions += [{**own, "matchAttribute": key} for key in _of_core(plan)]
    if attribute := _aligned(plan):
        conditions.append({"matchAttribute": attribute})
    if conditions:
        devices["constraints"] = conditions
    return {"devices": devices}


def _of_groups(plan: NodePlan, cpus: int) -> Iterator[dict[str, Any]]:
    """A request for a part of a device, or several where no device has so many CPUs.

    They are of whole cores, if these divide.
    """
    threads = plan.topology.threads_per_core
    unit = threads if cpus % threads == 0 else 1
    units, most = cpus // unit, largest_group(plan) // unit
    count = -(-units // most) if most else 1
    for number in range(count):
        share = (units // count + (number < units % count)) * unit
        capacity = {"requests": {CAPACITY: str(share)}}
        selectors = [{"cel": {"expression": _HAS_CAPACITY}}]
        asked = {"deviceClassName": driver.CLASS, "selectors": selectors, "capacity": capacity}
        name = _CLAIM if count == 1 else f"{_CLAIM}-{number + 1}"
        yield {"name": name, "exactly": asked}


def largest_group(plan: NodePlan) -> int:
    """The CPUs of the largest device of mode grouped."""
    topology = plan.topology
    by_socket = plan.node_class.target.dra.group_by == "socket"
    groups = topology.sockets if by_socket else topology.numa_nodes
    own = claimable(plan, "")
    return max((len(cpus & own) for cpus in groups.values()), default=0)


def _of_cpus(plan: NodePlan, pool: str, cpus: int) -> Iterator[dict[str, Any]]:
    name = classes.of_workload(plan, pool)
    if not by_cores(plan, pool, cpus):
        yield {"name": _CLAIM, "exactly": {"deviceClassName": name, "count": cpus}}
        return
    threads = plan.topology.threads_per_core
    for core in range(cpus // threads):
        asked = {"deviceClassName": name, "count": threads}
        yield {"name": f"core-{core}", "exactly": asked}


def _aligned(plan: NodePlan) -> str:
    """The attribute that all devices of a claim have in common; empty without."""
    match plan.node_class.target.dra.align:
        case "numaNode":
            return STANDARD_NUMA_NODE if driver.reads_file(plan) else NUMA_NODE_ID
        case "cache":
            return CACHE_L3_ID
        case _:
            return ""


def document(setting: Setting) -> dict[str, Any]:
    """The template of a setting, for the namespace of its workload."""
    return {
        "apiVersion": driver.API_VERSION,
        "kind": KIND,
        "metadata": {"name": setting.key},
        "spec": {"spec": plain(setting.value)},
    }


#: The specs by template.
render, parse = render_by_key, parse_by_key
#: Only the QoS class: the claim counts as CPUs already.
OF_CLASS = "1m"


def pod_template(plan: NodePlan, workload: Workload) -> dict[str, Any]:
    """The pod's side of a workload's claims, to merge into its template."""
    demands = demands_of(workload)
    spec: dict[str, Any] = {}
    if driver.published_mode(plan) == INDIVIDUAL:
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
    templates: dict[str, dict[str, str]] = {}
    number = 0
    for demand in demands_of(workload):
        own = templates.setdefault(demand.container, {})
        for part in range(1, len(chunks(plan, workload.pool, demand.cpus)) + 1):
            number += 1
            name = template_name(plan, workload, demand, part)
            own[f"{_CLAIM}-{number}"] = name
    return templates


def _milli(workload: Workload) -> int:
    """Thousandths of a CPU of all containers of a pod."""
    if workload.cpus is not None:
        return workload.cpus * 1000
    amounts = (
        container.requests.get(CPU) or container.limits.get(CPU)
        for container in containers_of(workload)
    )
    return sum(amount.milli for amount in amounts if amount)
