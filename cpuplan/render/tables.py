"""Tables of what there is: the classes of a plan, the server models of the catalogue."""

from collections.abc import Iterable, Sequence

from cpuplan.fleet import hardware
from cpuplan.model.inventory import HardwareSpec
from cpuplan.model.pools import POOLS
from cpuplan.plan import NodePlan
from cpuplan.printable import printable_values
from cpuplan.read.documents import Document

_CLASSES = ("CLUSTER", "NODES", "INTENT", "HARDWARE", "CPUS", *(pool.upper() for pool in POOLS))
_MODELS = ("NAME", "SOCKETS", "CORES", "CPUS", "NUMA NODES", "L3", "MODEL")


def table(rows: Sequence[tuple[str, ...]]) -> str:
    """Columns as wide as they need."""
    rows = printable_values(tuple(rows))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append("  ".join(cells).rstrip() + "\n")
    return "".join(lines)


def classes(plans: Iterable[NodePlan]) -> str:
    """A line for each class: its nodes, intent and hardware, and how many CPUs each pool has."""
    return table([_CLASSES, *map(_class, plans)])


def models(entries: Iterable[Document]) -> str:
    """A line for each server model: its name, and what it has."""
    return table([_MODELS, *(_model(entry.name, entry.spec) for entry in entries)])


def _class(plan: NodePlan) -> tuple[str, ...]:
    node_class = plan.node_class
    first, *rest = node_class.nodes
    nodes = f"{first} and {len(rest)} more" if rest else first
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
