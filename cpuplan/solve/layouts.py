"""The layout of each class: the locked one while it satisfies every rule, else one near it."""

from collections.abc import Iterable, Sequence
from itertools import chain

from cpuplan.diagnostics import CpuplanError, Diagnostic, Label, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.fleet.lock import Locked, Start, digest
from cpuplan.plan import NodeClass, NodePlan
from cpuplan.solve import common, effort, solver
from cpuplan.solve.breaches import Breach, breaches
from cpuplan.solve.effort import UndecidedError, proof
from cpuplan.solve.layout import Layout


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
    starts = in_order(own_starts)
    for start in starts:
        if not any(_breach(node_class, start.locked.pools) for node_class in classes):
            return _kept(classes, start.locked, locate)
    for node_class, candidates in zip(classes, own_starts, strict=True):
        _refuse_edited(node_class, candidates, locate)
    return common.solve(classes, locate, starts[0].locked.pools if starts else None)


def _layout(
    node_class: NodeClass, starts: Sequence[Start], locate: Locate, kin: Sequence[NodeClass]
) -> NodePlan:
    """The locked layout if it satisfies every rule, whatever its inputs were, else one near it."""
    for start in starts:
        if not _breach(node_class, start.locked.pools):
            return _kept([node_class], start.locked, locate)[0]
    _refuse_edited(node_class, starts, locate)
    return solver.solve(node_class, locate, starts[0].locked.pools if starts else None, kin)


def _kept(classes: Sequence[NodeClass], locked: Locked, locate: Locate) -> list[NodePlan]:
    """The locked layout; or a better one, if it was not proven best and may take longer now.

    Only who says how long asks for that: all others get the same answer every time.
    """
    limited, limit = locked.limited, effort.current()
    if limited and not limited.is_best and limit.is_asked and limit.seconds > limited.seconds:
        better = _better(classes, locked.pools, locate)
        if better:
            return better
        limited = limited._replace(seconds=limit.seconds)
    return [solver.explain(node_class, locked.pools, limited) for node_class in classes]


def _better(classes: Sequence[NodeClass], layout: Layout, locate: Locate) -> list[NodePlan]:
    """The best layout, if it is proven best, or nearer to a goal; else there is no reason to move.

    Of one that is common to several classes only the proof counts.
    """
    try:
        if len(classes) > 1:
            found = common.solve(classes, locate)
        else:
            found = [solver.solve(classes[0], locate)]
    except UndecidedError:
        return []
    first = found[0]
    if first.limited is None or first.limited.is_best:
        return found
    is_nearer = len(classes) == 1 and proof.is_nearer(classes[0], first.layout, layout)
    return found if is_nearer else []


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
