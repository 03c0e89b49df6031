"""Which CPUs a plan moves from one set to another, compared with the lock."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.progress import stage
from cpuplan.fleet import lock
from cpuplan.pipeline.loading import Project, starts
from cpuplan.plan import NodeClass, Plan
from cpuplan.solve import moves as of_class
from cpuplan.solve.moves import Move


class Moves(NamedTuple):
    """CPUs that change their sets: of all nodes of a class, or of `nodes` from another class."""

    node_class: NodeClass
    moves: tuple[Move, ...]
    nodes: tuple[str, ...] = ()


@stage("comparing layouts")
def moves(project: Project, plan: Plan) -> list[Moves]:
    """What a plan changes, compared with the lock; nothing of classes that are not in the lock."""
    known = starts(project)
    return [moves for node in plan.nodes for moves in _moves(known, node.node_class, node.layout)]


def _moves(
    known: lock.Starts, node_class: NodeClass, after: Mapping[str, CpuSet]
) -> Iterator[Moves]:
    start = next(iter(known.of(node_class)), None)
    if start:
        moved = of_class.moves(node_class, start.locked.pools, after)
        if moved:
            yield Moves(node_class, tuple(moved))
    for key, names in known.had(node_class).items():
        other = known.lock.get(key)
        is_start = start is not None and key == start.key
        if other and not is_start and other.pools != after:
            moved = of_class.moves(node_class, other.pools, after)
            yield Moves(node_class, tuple(moved), tuple(names))
