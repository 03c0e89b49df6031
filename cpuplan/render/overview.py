"""Tables of what there is: the classes of a plan (`cpuplan show` without a name), the entries of
the catalogue.
"""

from collections.abc import Iterable, Sequence

from cpuplan.model.inventory import HardwareSpec
from cpuplan.model.pools import POOLS
from cpuplan.plan import NodePlan
from cpuplan.printable import printable_values
from cpuplan.read.documents import Document

_HEAD = ("CLUSTER", "NODES", "INTENT", "HARDWARE", "CPUS", *(pool.upper() for pool in POOLS))


def overview(plans: Iterable[NodePlan]) -> str:
    """A line for each class: its nodes, intent and hardware, and how many CPUs each pool has."""
    return table([_HEAD, *map(_row, plans)])


def catalogue(entries: Iterable[Document]) -> str:
    """A line for each server model: its name, and what it has."""
    head = ("NAME", "SOCKETS", "CORES", "CPUS", "NUMA NODES", "L3", "MODEL")
    return table([head, *(_model(entry.name, entry.spec) for entry in entries)])


def _model(name: str, spec: HardwareSpec) -> tuple[str, ...]:
    from cpuplan.fleet import hardware

    topology, _ = hardware.build(spec)
    if topology is None:
        return (name, *[""] * 5, spec.model or "")
    groups = (
        topology.sockets,
        topology.cores,
        topology.cpus,
        topology.numa_facts,
        topology.uncore_caches,
    )
    return (name, *(str(len(group)) for group in groups), spec.model or "")


def table(rows: Sequence[tuple[str, ...]]) -> str:
    """Columns as wide as they need."""
    rows = printable_values(tuple(rows))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
    return "\n".join(lines) + "\n"


def _row(plan: NodePlan) -> tuple[str, ...]:
    node_class = plan.node_class
    first, *rest = node_class.nodes
    nodes = f"{first} and {len(rest)} more" if rest else first
    sizes = (str(len(plan.pool(pool).cpus)) for pool in POOLS)
    return (
        node_class.cluster,
        nodes,
        node_class.intent,
        node_class.hardware,
        str(len(plan.topology.online)),
        *sizes,
    )
