"""The plan of a node on its machine: pools, partitions of isolated, QoS sets, and whose CPUs are
taken.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cpuplan.cpuset import CpuSet, union
from cpuplan.model.inventory import HardwareSpec
from cpuplan.model.pools import QOS_SETS
from cpuplan.plan import NodePlan, Pool
from cpuplan.render.map import marks
from cpuplan.render.map.boxes import Entry, Map, counts
from cpuplan.render.map.hardware import Drawing, Parts
from cpuplan.render.map.marks import NO_POOL, OFFLINE, Mark

OWNERS, POOLS, PARTITIONS, SETS = (
    "containers with exclusive CPUs",
    "pools",
    "partitions of isolated",
    "QoS sets, over the pools",
)


class _Layer(NamedTuple):
    """CPUs that are drawn with one mark, unless a layer before has them."""

    mark: Mark
    cpus: CpuSet
    section: str


def plan_map(
    plan: NodePlan, node: str, spec: HardwareSpec | None = None, owners: Sequence[Pool] = ()
) -> Map:
    """The pools of `node` on its machine, whose Hardware document tells `spec`; and CPUs that
    containers own.
    """
    topology = plan.topology
    layers = list(_layers(plan, owners))

    def parts_of(siblings: CpuSet) -> Parts:
        return tuple(_parts(layers, siblings))

    facts = spec or HardwareSpec.model_construct()
    facts = facts.model_copy(update={"devices": plan.node_class.devices})
    drawing = Drawing(facts, topology, parts_of, caches_by_cpu=True, offline=OFFLINE)
    over = [Entry(mark, plan.pool(name).cpus, SETS) for name, mark in _set_marks(plan).items()]
    return Map(
        title=node,
        about=f"CPU pools of {node}",
        lines=_headline(plan, drawing),
        boxes=drawing.boxes(),
        last_cpu=drawing.last_cpu,
        memory=drawing.memory,
        notes=(*drawing.notes(), *_workloads(plan)),
        legend=(*_legend(plan, layers), *over),
        splits_cores=any(len(parts_of(siblings)) > 1 for siblings in topology.cores.values()),
        over=tuple(over),
    )


def _layers(plan: NodePlan, owners: Sequence[Pool]) -> Iterator[_Layer]:
    """From above to below: containers, partitions, pools."""
    partitions = [each for each in plan.sets if each.name not in QOS_SETS]
    owned = dict(enumerate(marks.owner_marks([owner.name for owner in owners])))
    of_parts = marks.partition_marks([each.name for each in partitions])
    of_pools = marks.pool_marks(pool.name for pool in plan.pools)
    every = marks.equally_wide(
        {**{str(at): mark for at, mark in owned.items()}, **of_parts, **of_pools}
    )
    for at, owner in enumerate(owners):
        yield _Layer(every[str(at)], owner.cpus, OWNERS)
    for each in partitions:
        yield _Layer(every[each.name], each.cpus, PARTITIONS)
    for pool in plan.pools:
        yield _Layer(every[pool.name], pool.cpus, POOLS)


def _set_marks(plan: NodePlan) -> dict[str, Mark]:
    return marks.set_marks(each.name for each in plan.sets if each.cpus)


def _parts(layers: Sequence[_Layer], siblings: CpuSet) -> Iterator[tuple[Mark, CpuSet]]:
    rest = siblings
    for mark, cpus, _ in layers:
        if here := rest & cpus:
            yield mark, here
            rest = rest - here
    if rest:
        yield NO_POOL, rest


def _legend(plan: NodePlan, layers: Sequence[_Layer]) -> Iterator[Entry]:
    """What has CPUs: containers, then pools, what is in no pool, and partitions, without those of
    containers.
    """
    owned = union(cpus for _, cpus, section in layers if section == OWNERS)
    for section in OWNERS, POOLS, PARTITIONS:
        after = section != OWNERS and bool(owned)
        for mark, cpus, of in layers:
            if of == section and cpus:
                yield Entry(
                    mark,
                    cpus if section == OWNERS else cpus - owned,
                    section + " without them" * after,
                )
        if section == POOLS:
            rest = plan.topology.online - union(pool.cpus for pool in plan.pools)
            for mark, cpus in (OFFLINE, plan.topology.offline), (NO_POOL, rest):
                if cpus:
                    yield Entry(mark, cpus, section + " without them" * after)


def _headline(plan: NodePlan, drawing: Drawing) -> tuple[str, str]:
    """Where the nodes of a class belong, and their size, in a line each."""
    of = plan.node_class
    return (
        f"cluster {of.cluster}, hardware {of.hardware}, intent {of.intent}, class {of.name}",
        ", ".join([counts(plan.topology), *drawing.per_core]),
    )


def _workloads(plan: NodePlan) -> Iterator[str]:
    """The pods that there must be room for, which have no CPUs before they come."""
    for each in plan.spec.workloads:
        pods = "a pod" if each.pods == 1 else f"{each.pods} pods"
        cpus = "1 CPU" if each.cpus == 1 else f"{each.cpus} CPUs"
        yield f"room for workload {each.name}: {pods} with {cpus}{' each' * (each.pods > 1)}, from {each.pool}"
