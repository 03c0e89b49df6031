"""The plan of a node on its machine: pools, partitions, QoS sets, and whose CPUs are taken."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cpuplan.base.cpuset import CpuSet, union
from cpuplan.base.text import counted
from cpuplan.language.model.inventory import HardwareSpec
from cpuplan.language.model.pools import QOS_SETS
from cpuplan.language.model.vocabulary import PARTITION
from cpuplan.plan import NodePlan, Pool
from cpuplan.render.map import boxes
from cpuplan.render.map.boxes import NO_POOL, OFFLINE, Entry, Map, Mark, counts
from cpuplan.render.map.drawing import Drawing, Parts
from cpuplan.solve.rules.sizes import exclusive_cpus

OWNERS = "containers with exclusive CPUs"
POOLS = "pools"
PARTITIONS = "partitions of isolated"
ALL_PARTITIONS = "partitions"
SETS = "QoS sets, over the pools"


class _Layer(NamedTuple):
    """CPUs that are drawn with one mark, unless a layer before has them."""

    mark: Mark
    cpus: CpuSet
    section: str


def plan_map(
    plan: NodePlan, node: str, spec: HardwareSpec | None = None, owners: Sequence[Pool] = ()
) -> Map:
    """The pools of `node` on the machine of `spec`, and the CPUs that containers own."""
    topology = plan.topology
    layers = list(_layers(plan, owners))

    def parts_of(siblings: CpuSet) -> Parts:
        return tuple(_parts(layers, siblings))

    facts = spec or HardwareSpec.model_construct()
    facts = facts.model_copy(update={"devices": plan.node_class.devices})
    drawing = Drawing(facts, topology, parts_of, caches_by_cpu=True, offline=OFFLINE)
    set_marks = boxes.set_marks(part.name for part in plan.sets if part.cpus)
    sets = [Entry(mark, plan.pool(name).cpus, SETS) for name, mark in set_marks.items()]
    return Map(
        title=node,
        about=f"CPU pools of {node}",
        lines=_lines(plan, drawing),
        boxes=drawing.boxes(),
        last_cpu=drawing.last_cpu,
        memory=drawing.memory,
        notes=(*drawing.notes(), *_workloads(plan)),
        legend=(*_legend(plan, layers), *sets),
        splits_cores=any(len(parts_of(siblings)) > 1 for siblings in topology.cores.values()),
        over=tuple(sets),
    )


def _layers(plan: NodePlan, owners: Sequence[Pool]) -> Iterator[_Layer]:
    """From above to below: containers, partitions, pools."""
    partitions = [part for part in plan.sets if part.name not in QOS_SETS]
    owner_marks = boxes.owner_marks([owner.name for owner in owners])
    every = {str(index): mark for index, mark in enumerate(owner_marks)}
    every |= boxes.partition_marks([partition.name for partition in partitions])
    every |= boxes.pool_marks(pool.name for pool in plan.pools)
    every = boxes.equally_wide(every)
    for index, owner in enumerate(owners):
        yield _Layer(every[str(index)], owner.cpus, OWNERS)
    of_isolated = all(partition.name.startswith(PARTITION) for partition in partitions)
    title = PARTITIONS if of_isolated else ALL_PARTITIONS
    for partition in partitions:
        yield _Layer(every[partition.name], partition.cpus, title)
    for pool in plan.pools:
        yield _Layer(every[pool.name], pool.cpus, POOLS)


def _parts(layers: Sequence[_Layer], siblings: CpuSet) -> Iterator[tuple[Mark, CpuSet]]:
    rest = siblings
    for mark, cpus, _ in layers:
        members = rest & cpus
        if members:
            yield mark, members
            rest = rest - members
    if rest:
        yield NO_POOL, rest


def _legend(plan: NodePlan, layers: Sequence[_Layer]) -> Iterator[Entry]:
    """Containers, then pools, what is in no pool, and partitions, without those of containers."""
    owned = union(cpus for _, cpus, section in layers if section == OWNERS)
    without = " without them" if owned else ""
    unpooled = plan.topology.online - union(pool.cpus for pool in plan.pools)
    for mark, cpus in _of_section(layers, OWNERS):
        yield Entry(mark, cpus, OWNERS)
    for mark, cpus in _of_section(layers, POOLS):
        yield Entry(mark, cpus - owned, POOLS + without)
    if plan.topology.offline:
        yield Entry(OFFLINE, plan.topology.offline, POOLS + without)
    if unpooled:
        yield Entry(NO_POOL, unpooled, POOLS + without)
    for title in (PARTITIONS, ALL_PARTITIONS):
        for mark, cpus in _of_section(layers, title):
            yield Entry(mark, cpus - owned, title + without)


def _of_section(layers: Sequence[_Layer], name: str) -> list[tuple[Mark, CpuSet]]:
    return [(mark, cpus) for mark, cpus, section in layers if section == name and cpus]


def _lines(plan: NodePlan, drawing: Drawing) -> tuple[str, str]:
    """Where the nodes of a class belong, and their size."""
    of = plan.node_class
    return (
        f"cluster {of.cluster}, hardware {of.hardware}, intent {of.intent}, class {of.name}",
        ", ".join([counts(plan.topology), *drawing.per_core]),
    )


def _workloads(plan: NodePlan) -> Iterator[str]:
    """The pods that there must be room for, which have no CPUs before they come."""
    for workload in plan.spec.workloads:
        several = workload.pods > 1
        pods = f"{workload.pods} pods" if several else "a pod"
        if workload.per == "numaNode":
            pods += " per NUMA node"
        cpus = counted(exclusive_cpus(plan.node_class, workload), "CPU") + " each" * several
        yield f"room for workload {workload.name}: {pods} with {cpus}, from {workload.pool}"
