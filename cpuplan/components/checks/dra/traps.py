"""What the driver gets wrong, or lets happen, on a planned machine."""

from collections.abc import Iterator

from cpuplan.base.cpuset import CpuSet, cpus_text, union
from cpuplan.components.dra import claims, classes, driver, names, slices
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.language.model.vocabulary import PARTITION
from cpuplan.plan import NodePlan
from cpuplan.upstream.dra.api import GROUPED


def check(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP534, CP535, CP555 and CP568."""
    if names.mode(plan) == GROUPED:
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

    machine = slices.machine(plan.topology, plan.pool("offlined").cpus)
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
