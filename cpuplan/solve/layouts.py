"""The layout of each class: the locked one while it satisfies every rule, else the best one near to
it.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cpuplan.diagnostics import CpuplanError, Diagnostic, Label, diagnose
from cpuplan.fleet.lock import Locked, Start, Starts, digest
from cpuplan.plan import NodeClass, NodePlan
from cpuplan.source import Locate

if TYPE_CHECKING:
    from cpuplan.solve.breaches import Breach


def layouts(
    members: Sequence[NodeClass], known: Starts, locate: Locate, classes: Sequence[NodeClass]
) -> list[NodePlan]:
    """The plans of `members`, which have one layout, among all `classes`. Raises CpuplanError for
    none, and CP240.
    """
    if len(members) > 1:
        return _common_layout(members, known, locate)
    own = members[0]
    kin = [each for each in classes if each.intent == own.intent and each is not own]
    return [_layout(own, known, locate, kin)]


def together(classes: Sequence[NodeClass]) -> list[list[NodeClass]]:
    """Classes that get one layout: those of one intent, and so one pool, that is common to unlike
    hardware.
    """
    found: dict[tuple[str, ...], list[NodeClass]] = {}
    for each in classes:
        target = each.target
        common = target.platform == "openshift" and target.mixed_hardware == "common"
        key = (each.cluster, each.intent) if common else (each.cluster, each.intent, each.name)
        found.setdefault(key, []).append(each)
    return list(found.values())


def _common_layout(classes: Sequence[NodeClass], known: Starts, locate: Locate) -> list[NodePlan]:
    """The locked layout where it satisfies every rule of every class; else the best one near to it.

    A class that is new in the pool starts from the layout of the others, and one of another name
    from what it had.
    """
    from cpuplan.solve import common, solver
    from cpuplan.solve.breaches import breaches

    found = [(each, known.of(each)) for each in classes]
    starts = sorted(
        (start for _, candidates in found for start in candidates),
        key=lambda start: not start.is_own,
    )
    before = [start.locked for start in starts]
    for locked in before:
        if not any(next(breaches(each, locked.pools), None) for each in classes):
            return [solver.explain(each, locked.pools) for each in classes]
    for each, candidates in found:
        _refuse_edited(each, candidates, locate)
    layout = common.solve(classes, locate, before[0].pools if before else None)
    return [solver.explain(each, layout) for each in classes]


def _layout(
    node_class: NodeClass, known: Starts, locate: Locate, kin: Sequence[NodeClass]
) -> NodePlan:
    """The locked layout where it satisfies every rule, whatever it was solved from; else the best
    one near to it.
    """
    from cpuplan.solve import solver
    from cpuplan.solve.breaches import breaches

    candidates = known.of(node_class)
    for start in candidates:
        if next(breaches(node_class, start.locked.pools), None) is None:
            return solver.explain(node_class, start.locked.pools)
    _refuse_edited(node_class, candidates, locate)
    return solver.solve(node_class, locate, candidates[0].locked.pools if candidates else None, kin)


def _refuse_edited(node_class: NodeClass, candidates: Sequence[Start], locate: Locate) -> None:
    """Raise CP240 where nothing that a layout was solved from has changed: then somebody changed
    the layout.
    """
    from cpuplan.solve.breaches import breaches

    if len(candidates) != 1:
        return  # none, or both sides of a merge
    start, is_own = candidates[0].locked, candidates[0].is_own
    breach = next(breaches(node_class, start.pools), None)
    if breach and (start.overlaps or (is_own and start.solved_from == digest(node_class))):
        raise CpuplanError([_edited(node_class, start, breach, locate)])


def _edited(node_class: NodeClass, locked: Locked, breach: "Breach", locate: Locate) -> Diagnostic:
    """CP240 at the list of the pool that breaks the rule, with the line of that rule."""
    place = next(
        (locked.places[name] for name in breach.names if name in locked.places), locked.position
    )
    origin = breach.rule and locate(breach.rule.reason.origin)
    labels = [Label(origin, breach.rule.reason.text)] if breach.rule and origin else []
    name, cluster = node_class.name, node_class.cluster
    return diagnose("CP240", place, labels=labels, name=name, cluster=cluster, problem=breach.text)
