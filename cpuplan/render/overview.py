"""A plan in one table: what `cpuplan show` prints without a node."""

from cpuplan.intent import POOLS
from cpuplan.plan import NodePlan, Plan

_HEAD = ("CLUSTER", "NODES", "INTENT", "HARDWARE", "CPUS", *(pool.upper() for pool in POOLS))


def overview(plan: Plan) -> str:
    """A line for each class: its nodes, intent and hardware, and how many CPUs each pool has."""
    rows = [_HEAD, *map(_row, plan.nodes)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
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
