"""Tables of what there is: the classes of a plan, the server models of the catalogue."""

from collections.abc import Iterable, Iterator, Sequence

from cpuplan.cpuset import cpus_text
from cpuplan.fleet import hardware
from cpuplan.model.inventory import HardwareSpec
from cpuplan.model.pools import POOLS
from cpuplan.name_ranges import fold_names
from cpuplan.plan import NodeClass, NodePlan
from cpuplan.read.documents import Document
from cpuplan.render.columns import table
from cpuplan.text import listed

_CLASSES = ("CLUSTER", "NODES", "INTENT", "HARDWARE", "CPUS", *(pool.upper() for pool in POOLS))
#: Ranges of names in a line before the others are only counted.
_MOST_RANGES = 2
_MODELS = ("NAME", "SOCKETS", "CORES", "CPUS", "NUMA NODES", "L3", "MODEL")


def classes(plans: Sequence[NodePlan]) -> str:
    """A line for each class: its nodes, intent and hardware, and how many CPUs each pool has.

    Where something is special about a class, a last column says what.
    """
    rows = [_class(plan) for plan in plans]
    notes = [", ".join(_special(plan.node_class, plans)) for plan in plans]
    if any(notes):
        rows = [(*row, note) for row, note in zip(rows, notes, strict=True)]
        return table([(*_CLASSES, "SPECIAL"), *rows])
    return table([_CLASSES, *rows])


def _special(node_class: NodeClass, plans: Iterable[NodePlan]) -> Iterator[str]:
    """What distinguishes a class: it is paused, or unlike most nodes of its hardware."""
    if node_class.spec.paused:
        yield "paused"
    kin = [
        plan.node_class
        for plan in plans
        if (plan.node_class.cluster, plan.node_class.intent, plan.node_class.hardware)
        == (node_class.cluster, node_class.intent, node_class.hardware)
    ]
    usual = max(kin, key=lambda other: len(other.nodes))
    if usual is node_class:
        return
    missing = usual.topology.online - node_class.topology.online
    more = node_class.topology.online - usual.topology.online
    if missing:
        yield f"{cpus_text(missing)} offline"
    if more:
        yield f"{cpus_text(more)} online"
    if usual.devices != node_class.devices:
        yield "other devices"
    if not (missing or more) and usual.devices == node_class.devices:
        yield f"unlike {usual.name}"


def models(entries: Iterable[Document]) -> str:
    """A line for each server model: its name, and what it has."""
    return table([_MODELS, *(_model(entry.name, entry.spec) for entry in entries)])


def _class(plan: NodePlan) -> tuple[str, ...]:
    node_class = plan.node_class
    nodes = listed(fold_names(node_class.nodes), _MOST_RANGES)
    if len(node_class.nodes) > 1:
        nodes += f" ({len(node_class.nodes)})"
    cpus = str(len(plan.topology.online))
    sizes = [str(len(plan.pool(pool).cpus)) for pool in POOLS]
    return (node_class.cluster, nodes, node_class.intent, node_class.hardware, cpus, *sizes)


def _model(name: str, spec: HardwareSpec) -> tuple[str, ...]:
    sizes = [""] * 5
    topology, _ = hardware.build(spec)
    if topology is not None:
        caches = topology.uncore_caches
        groups = (topology.sockets, topology.cores, topology.cpus, topology.numa_facts, caches)
        sizes = [str(len(group)) for group in groups]
    return (name, *sizes, spec.model or "")
