"""What the DRA CPU driver cannot keep of a plan, and what it gets wrong on a machine."""

from collections.abc import Iterator

from cpuplan.base.cpuset import CpuSet, cpus_text, union
from cpuplan.base.topology import UNKNOWN
from cpuplan.components import isolation
from cpuplan.components.checks import base
from cpuplan.components.checks.base import Problem
from cpuplan.components.chosen import stated
from cpuplan.components.dra import claims, classes, driver, resource_slices
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.facts import versions
from cpuplan.facts.settings.kubelet import (
    FEATURE_GATES,
    MEMORY_MANAGER_POLICY,
    TOPOLOGY_MANAGER_POLICY,
)
from cpuplan.language.model.vocabulary import PARTITION
from cpuplan.plan import NodePlan
from cpuplan.upstream.dra.api import GROUPED, INDIVIDUAL


def check_layout(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP508 at each statement that cannot hold."""
    for find in (_of_target, _of_driver, _of_kubelet, _of_pools, _of_partitions, _of_kernel):
        for field, problem, hint in find(plan):
            position = locate(plan.node_class.place(field))
            yield diagnose(
                "CP508", position, field=field, mechanism="dra", problem=problem, hint=hint
            )


def _of_target(plan: NodePlan) -> Iterator[Problem]:
    node_class = plan.node_class
    target = node_class.target
    yield from base.unconfigured_runtime(plan)
    if node_class.platform.has_runtime_choice and not versions.has(target, "api.device_classes"):
        since = versions.to_text(versions.FEATURES["api.device_classes"])
        text = f"{target.version} has no resource.k8s.io/v1, in which the driver publishes CPUs"
        hint = f"use version {since} or later, {base.KUBELET}"
        yield node_class.target_field("version"), text, hint
    yield from base.long_name(plan)


def _of_driver(plan: NodePlan) -> Iterator[Problem]:
    """Fields of `dra` that contradict the release or each other."""
    dra, is_grouped = plan.node_class.target.dra, driver.published_mode(plan) == GROUPED
    if dra.accounting == "mapping":
        field, hint = driver.target_field(plan, "accounting"), "use requests or podResources"
        if not driver.reads_file(plan):
            yield field, f"driver {dra.release} publishes no mapping", f"use release 0.3, or {hint}"
        if not versions.has(plan.node_class.target, "api.node_allocatable_resources"):
            yield field, "Kubernetes before 1.37 drops the mapping", hint
    if dra.align == "cache" and is_grouped:
        text = "in mode grouped the driver prefers one cache, and promises nothing"
        yield driver.target_field(plan, "align"), text, "use mode: individual"
    if dra.align == "numaNode" and is_grouped and dra.group_by == "socket":
        text = "a device of groupBy socket may have several NUMA nodes"
        yield driver.target_field(plan, "align"), text, "use groupBy: numanode"
    known = _partitions(plan)
    for name in dra.namespaces:
        if name not in known:
            text = f"the isolated pool has no partition {name}"
            yield driver.target_field(plan, f"namespaces.{name}"), text, "leave it out"


def _partitions(plan: NodePlan) -> set[str]:
    isolated = plan.spec.pools.isolated
    return set(isolated.partitions) if isolated else set()


def _of_kubelet(plan: NodePlan) -> Iterator[Problem]:
    kubelet = plan.spec.kubelet
    yield from base.static_policy(plan)
    if kubelet.dynamic_resource_allocation:
        text = "it is for drivers that cpuplan knows nothing of"
        yield "kubelet.dynamicResourceAllocation", text, "leave it out"
    gates = kubelet.configuration.get(FEATURE_GATES.head) or {}
    for gate in driver.needed(plan):
        if gates.get(gate) is False:
            field = f"kubelet.configuration.{FEATURE_GATES.head}.{gate}"
            yield field, f"the driver needs {gate}", "use true, or leave it out"
    if kubelet.memory_manager_policy == "Static":
        text = "memory would be pinned to NUMA nodes that the CPUs of claims do not follow"
        yield MEMORY_MANAGER_POLICY.field, text, f"use None, {base.KUBELET}"
    if (kubelet.topology_manager_policy or "none") != "none":
        text = "the kubelet's topology manager gets no hints of claims"
        hint = "leave it out, and use align: numaNode of the target's dra"
        yield TOPOLOGY_MANAGER_POLICY.field, text, hint


def _of_pools(plan: NodePlan) -> Iterator[Problem]:
    why = "no container has shared CPUs beside those of its claims (dra-driver-cpu #103)"
    yield from base.shared_pool(plan, why)
    for field in base.qos_fields(plan):
        text = "all containers without a claim have the same CPUs, of whatever QoS class"
        yield field, text, f"leave it out, {base.BALLOONS}"


def _of_partitions(plan: NodePlan) -> Iterator[Problem]:
    """In mode grouped a device is a whole NUMA node or socket."""
    if driver.published_mode(plan) == INDIVIDUAL:
        return
    for field in base.partition_fields(plan):
        text = "a claim of mode grouped gets any CPUs of a NUMA node or socket"
        yield field, text, f"use mode: individual, leave the partition out, {base.BALLOONS}"


def _of_kernel(plan: NodePlan) -> Iterator[Problem]:
    """Containers without claims run on isolated CPUs while no claim has them."""
    because = stated(plan, "no load balancing", "isolation.domain")
    cpus = isolation.kept_off(plan, "domain", because).cpus & plan.pool("isolated").cpus
    if cpus:
        text = f"unclaimed, {cpus_text(cpus)} are for all containers, which need load balancing"
        hint = f"use false, or the pool isolcpus, which no container gets, {base.KUBELET}"
        yield "isolation.domain", text, hint


def _check_machine(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP569 where the inventory says that the kernel has no NUMA nodes."""
    for problem in _without_cpus(plan):
        position = locate(plan.node_class.hardware_place(""))
        yield diagnose("CP569", position, hardware=plan.node_class.hardware, problem=problem)


def _without_cpus(plan: NodePlan) -> Iterator[str]:
    topology = plan.topology
    own = topology.online - plan.pool("offlined").cpus - driver.reserved(plan)
    if topology.kubelet.no_numa_nodes or all(topology[cpu].numa_node == UNKNOWN for cpu in own):
        yield "its kernel has no NUMA nodes"


_EFFECTS = {
    driver.CONSUMABLE: "without it one claim takes a whole device, and its containers do not start",
    driver.ALLOCATABLE: "without it the CPUs of claims are not counted",
}


def _check_runtime(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP578 for gates that nobody says are on, CP579 for the runtime."""
    node_class = plan.node_class
    stated = node_class.cluster_facts.control_plane_feature_gates
    missing = [gate for gate in driver.gates(plan) if gate not in stated]
    if missing:
        yield diagnose(
            "CP578",
            locate(node_class.place(node_class.target_field("mechanism"))),
            cluster=node_class.cluster,
            gates=" and ".join(missing),
            version=node_class.target.version,
            effect=_EFFECTS[missing[0]],
            flags=",".join(f"{gate}=true" for gate in missing),
        )
    yield from base.waiting_runtime(plan, locate, "the driver")


def _check_faults(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP534, CP535, CP555 and CP568."""
    if driver.published_mode(plan) == GROUPED:
        yield from _check_core_ids(plan, locate)
    yield from _check_left(plan, locate)
    yield from _check_split_pools(plan, locate)
    yield from _check_workloads(plan, locate)


def _check_core_ids(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    if problem := core_problem(plan):
        position = locate(plan.node_class.place(plan.node_class.target_field("mechanism")))
        yield diagnose("CP534", position, hardware=plan.node_class.hardware, problem=problem)


def core_problem(plan: NodePlan) -> str:
    """Why the driver may take CPUs of another core; empty where it counts right."""
    from cpuplan.upstream.dra.cpuinfo import repeating_cores  # for few plans

    machine = resource_slices.machine(plan.topology, plan.pool("offlined").cpus)
    if repeated := repeating_cores(machine):
        return f"core_id {repeated[0]} is of several cores"
    if machine.num_cores and machine.num_cpus % machine.num_cores:
        return "its cores have unequal numbers of online threads"
    return ""


def _check_left(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP535 where all that is not reserved can be claimed."""
    online = plan.topology.online - plan.pool("offlined").cpus - driver.reserved(plan)
    made = classes.pools(plan)
    isolated = plan.spec.pools.isolated
    if isolated and isolated.partitions and not made:
        return  # there is no layout
    if not online or (made and online - union(pool.cpus for pool in made)):
        return
    refuses = driver.reads_file(plan)
    effect = "no container without a claim starts"
    if not refuses:
        effect = "containers without a claim run on all CPUs, those of claims and reserved ones too"
    hint = "let the isolated pool have more CPUs than its partitions"
    if not made:
        hint = "give claims partitions (mode individual), or limit them by ResourceQuotas"
    field = "pools.isolated" if made else plan.node_class.target_field("mechanism")
    name = plan.node_class.name
    yield diagnose(
        "CP535", locate(plan.node_class.place(field)), name=name, effect=effect, hint=hint
    )


def _check_split_pools(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP555 for reserved CPUs and partitions that have some threads of a core."""
    reserved = driver.reserved(plan)
    pools = [("pools.reserved", "reserved", reserved)]
    for pool in classes.pools(plan):
        name = pool.name.removeprefix(PARTITION)
        field = f"pools.isolated.partitions.{name}" if pool.name != name else "pools.isolated"
        pools.append((field, pool.name, pool.cpus))
    for field, name, cpus in pools:
        if _is_split(plan, cpus):
            yield diagnose(
                "CP555",
                locate(plan.node_class.place(field)),
                what=name,
                cpus=cpus_text(cpus),
                effect="the other threads serve other containers",
                hint="give it whole cores, or waive this where threads may be shared",
            )


def _is_split(plan: NodePlan, cpus: CpuSet) -> bool:
    online = plan.topology.online - plan.pool("offlined").cpus
    return any(core & cpus and core & online - cpus for core in plan.topology.cores.values())


def _check_workloads(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP555 for claims of odd sizes, CP568 for several that should be together."""
    threads = plan.topology.threads_per_core
    part = {"numaNode": "NUMA node", "cache": "cache"}.get(plan.node_class.target.dra.align or "")
    for index, workload in enumerate(plan.spec.workloads):
        position = locate(plan.node_class.place(f"workloads.{index}"))
        for demand in claims.demands_of(workload):
            if demand.cpus % threads:
                yield diagnose(
                    "CP555",
                    position,
                    what=f"workload {workload.name}",
                    cpus=f"{demand.cpus} CPUs",
                    effect="another claim or container may get the other thread of a core",
                    hint=f"let it have a multiple of {threads} CPUs",
                )
            count = len(claims.chunks(plan, workload.pool, demand.cpus))
            if count > 1 and part and _is_spread(plan, workload.pool):
                yield diagnose(
                    "CP568",
                    position,
                    workload=workload.name,
                    count=count,
                    most=claims.most_cpus(plan, workload.pool, demand.cpus),
                    container=demand.container,
                    part=part,
                )


def _is_spread(plan: NodePlan, pool: str) -> bool:
    """Whether CPUs of a pool are on several of the parts by which claims are aligned."""
    topology, own = plan.topology, claims.claimable(plan, pool)
    by_cache = plan.node_class.target.dra.align == "cache"
    parts = topology.uncore_caches if by_cache else topology.numa_nodes
    return not any(own <= cpus for cpus in parts.values())


def check(plan: NodePlan, locate: Locate) -> list[Diagnostic]:
    """Statements that cannot hold, else machines without devices, else what may go wrong."""
    refused = list(check_layout(plan, locate))
    blind = refused or list(_check_machine(plan, locate))
    return blind or [*_check_runtime(plan, locate), *_check_faults(plan, locate)]
