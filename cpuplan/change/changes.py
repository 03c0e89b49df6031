"""What a compilation changes beside CPUs that move: layouts solved anew, and nodes left out."""

from collections.abc import Iterator
from typing import NamedTuple

from cpuplan import pipeline
from cpuplan.base.progress import stage
from cpuplan.fleet.lock import Key, Starts
from cpuplan.pipeline import Project
from cpuplan.plan import NodePlan, Plan


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
    known = pipeline.starts(project)
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
    now = pipeline.solver_version()
    if candidates[0].solver not in ("", now):
        yield Resolved(node.node_class.key, candidates[0].solver, now)


def _dropped(plan: Plan, known: Starts) -> Iterator[Dropped]:
    for key, names in sorted(known.members.items()):
        gone = tuple(name for name in names if (key[0], name) not in plan.by_node)
        if gone:
            yield Dropped(key, gone)
