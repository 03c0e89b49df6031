"""The layout of each class: the locked one while it satisfies every rule, else one near it."""

from collections.abc import Iterable, Sequence
from itertools import chain

from cpuplan.diagnostics import CpuplanError, Diagnostic, Label, diagnose
from cpuplan.fleet.lock import Locked, Start, digest
from cpuplan.plan import NodeClass, NodePlan
from cpuplan.solve import common, solver
from cpuplan.solve.breaches import Breach, breaches
from cpuplan.solve.layout import Layout
from cpuplan.source import Locate


def layouts(
    members: Sequence[NodeClass],
    starts: Sequence[Sequence[Start]],
    locate: Locate,
    kin: Sequence[NodeClass],
) -> list[NodePlan]:
    """The plans of `members`, which have one layout; each has locked ones that it starts from.

    `kin` are classes of the same intent. Raises CpuplanError where there is no layout, and CP240
    for one that was edited.
    """
    if len(members) > 1:
        return _common_layout(members, starts, locate)
    return [_layout(members[0], starts[0], locate, kin)]


def in_order(starts: Iterable[Sequence[Start]]) -> list[Start]:
    """The layouts that classes may start from together: first those that they had themselves."""
    several = list(starts)
    if len(several) == 1:
        return list(several[0])
    return sorted(chain.from_iterable(several), key=lambda start: not start.is_own)


def together(classes: Sequence[NodeClass]) -> list[list[NodeClass]]:
    """The classes by layout: those of one intent, and so pool, share one that is `common`."""
    groups: dict[tuple[str, ...], list[NodeClass]] = {}
    for node_class in classes:
        key: tuple[str, ...] = (node_class.cluster, node_class.intent)
        if node_class.mixed_hardware != "common":
            key = (*key, node_class.name)
        groups.setdefault(key, []).append(node_class)
    return list(groups.values())


def _common_layout(
    classes: Sequence[NodeClass], own_starts: Sequence[Sequence[Start]], locate: Locate
) -> list[NodePlan]:
    """The locked layout if it satisfies every rule of every class, else the best one near it.

    A new class in the pool starts from the layout of the others, and a renamed one from its own.
    """
    before = [start.locked.pools for start in in_order(own_starts)]
    for pools in before:
        if not any(_breach(node_class, pools) for node_class in classes):
            return [solver.explain(node_class, pools) for node_class in classes]
    for node_class, candidates in zip(classes, own_starts, strict=True):
        _refuse_edited(node_class, candidates, locate)
    layout = common.solve(classes, locate, before[0] if before else None)
    return [solver.explain(node_class, layout) for node_class in classes]


def _layout(
    node_class: NodeClass, starts: Sequence[Start], locate: Locate, kin: Sequence[NodeClass]
) -> NodePlan:
    """The locked layout if it satisfies every rule, whatever its inputs were, else one near it."""
    before = [start.locked.pools for start in starts]
    for pools in before:
        if not _breach(node_class, pools):
            return solver.explain(node_class, pools)
    _refuse_edited(node_class, starts, locate)
    return solver.solve(node_class, locate, before[0] if before else None, kin)


def _breach(node_class: NodeClass, layout: Layout) -> Breach | None:
    return next(breaches(node_class, layout), None)


def _refuse_edited(node_class: NodeClass, starts: Sequence[Start], locate: Locate) -> None:
    """Raise CP240 if the inputs of a layout have not changed: then somebody edited the layout."""
    if len(starts) != 1:
        return  # none, or both sides of a merge
    locked, is_own = starts[0].locked, starts[0].is_own
    breach = _breach(node_class, locked.pools)
    if breach and (locked.overlaps or (is_own and locked.solved_from == digest(node_class))):
        raise CpuplanError([_edited(node_class, locked, breach, locate)])


def _edited(node_class: NodeClass, locked: Locked, breach: Breach, locate: Locate) -> Diagnostic:
    """CP240 at the list of the pool that breaks the rule, with the line of that rule."""
    places = [locked.places[name] for name in breach.names if name in locked.places]
    labels = []
    if breach.rule:
        origin = locate(breach.rule.reason.origin)
        labels = [Label(origin, breach.rule.reason.text)] if origin else []
    return diagnose(
        "CP240",
        places[0] if places else locked.position,
        labels=labels,
        name=node_class.name,
        cluster=node_class.cluster,
        problem=breach.text,
    )
