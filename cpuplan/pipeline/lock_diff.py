"""What a compilation changes of the lock: CPUs that move, layouts solved anew, nodes left out."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.progress import stage
from cpuplan.fleet.lock import Key, Starts
from cpuplan.pipeline.loading import Project, starts
from cpuplan.plan import NodeClass, NodePlan, Plan

if TYPE_CHECKING:
    from cpuplan.solve.moves import Move


class Moves(NamedTuple):
    """CPUs that change their sets: of all nodes of a class, or of `nodes` from another class."""

    node_class: NodeClass
    moves: "tuple[Move, ...]"
    nodes: tuple[str, ...] = ()


@stage("comparing layouts")
def moves(project: Project, plan: Plan) -> list[Moves]:
    """What a plan changes, compared with the lock; nothing of classes that are not in the lock."""
    known = starts(project)
    result: list[Moves] = []
    for node in plan.nodes:
        result += _moves(known, node.node_class, node.layout)
    return result


def _moves(known: Starts, node_class: NodeClass, after: Mapping[str, CpuSet]) -> Iterator[Moves]:
    from cpuplan.solve.moves import moves as moved_cpus

    start = next(iter(known.of(node_class)), None)
    if start:
        moved = moved_cpus(node_class, start.locked.pools, after)
        if moved:
            yield Moves(node_class, tuple(moved))
    for key, names in known.had(node_class).items():
        other = known.lock.get(key)
        is_start = start is not None and key == start.key
        if other and not is_start and other.pools != after:
            moved = moved_cpus(node_class, other.pools, after)
            yield Moves(node_class, tuple(moved), tuple(names))


class Afresh(NamedTuple):
    """A class that was solved without the layout that its nodes had in another class."""

    key: Key
    nodes: tuple[str, ...]
    was: str  # the other class
    cpus: str  # of its layout; empty if unknown


class Resolved(NamedTuple):
    """A class with a new layout, by another version of the solver."""

    key: Key
    before: str
    now: str


class Dropped(NamedTuple):
    """Nodes of a class that were compiled before and are in no class now."""

    key: Key
    nodes: tuple[str, ...]


Change = Afresh | Resolved | Dropped


@stage("comparing with the lock")
def changes(project: Project, plan: Plan) -> list[Change]:
    """By cluster and class, within each kind of change."""
    known = starts(project)
    result: list[Change] = []
    for node in plan.nodes:
        result += _afresh(node, known)
        result += _resolved(node, known)
    return [*result, *_dropped(plan, known)]


def _afresh(node: NodePlan, known: Starts) -> Iterator[Afresh]:
    if known.of(node.node_class):
        return
    for key, names in known.had(node.node_class).items():
        entry = known.lock.get(key)
        yield Afresh(node.node_class.key, tuple(names), key[1], str(entry.cpus) if entry else "")


def _resolved(node: NodePlan, known: Starts) -> Iterator[Resolved]:
    candidates = [start.locked for start in known.of(node.node_class)]
    if not candidates or node.layout in [locked.pools for locked in candidates]:
        return
    now = solver_version()
    if candidates[0].solver not in ("", now):
        yield Resolved(node.node_class.key, candidates[0].solver, now)


def _dropped(plan: Plan, known: Starts) -> Iterator[Dropped]:
    for key, names in sorted(known.members.items()):
        gone = tuple(name for name in names if (key[0], name) not in plan.by_node)
        if gone:
            yield Dropped(key, gone)


@cache
def solver_version() -> str:
    """The version of OR-Tools, which need not be imported for that."""
    from importlib.metadata import version

    return version("ortools")
