"""What was compiled before and is gone now: it is removed from nodes only on request."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from cpuplan.base.text import counted, first_of, joined
from cpuplan.diagnostics import Diagnostic, Label, diagnose
from cpuplan.diagnostics.source import Position
from cpuplan.fleet.lock import Key, Locked, Starts
from cpuplan.plan import NodeClass

#: More classes of a cluster are not named.
_MOST = 5


def left(starts: Starts, classes: Iterable[NodeClass]) -> dict[Key, Locked]:
    """The locked layouts whose classes are gone: no other class took most of their nodes over.

    Where the nodes are unknown, a class that starts from the layout has taken them.
    """
    classes = list(classes)
    nodes = {(node_class.cluster, name) for node_class in classes for name in node_class.nodes}
    taken = {start.key for node_class in classes for start in starts.of(node_class)}

    def is_gone(key: Key) -> bool:
        names = starts.members.get(key, ())
        if not names:
            return key not in taken
        return 2 * sum((key[0], name) in nodes for name in names) <= len(names)

    return {
        key: entry
        for key, entry in starts.lock.items()
        if key not in starts.current and is_gone(key)
    }


def check(starts: Starts, classes: Iterable[NodeClass]) -> list[Diagnostic]:
    """CP244 for clusters that are gone, CP245 for pools of nodes, CP246 for classes."""
    classes = list(classes)
    gone = {
        key: entry
        for key, entry in left(starts, classes).items()
        if not _is_meant(entry, key, starts)
    }
    clusters = {node_class.cluster for node_class in classes}
    diagnostics = []
    for cluster, keys in groupby(sorted(gone), key=lambda key: key[0]):
        of_cluster = {key: gone[key] for key in keys}
        if cluster not in clusters:
            diagnostics.append(_cluster(cluster, of_cluster, starts))
        else:
            diagnostics += [_class(key, entry, starts) for key, entry in of_cluster.items()]
    return [*_pools(starts, classes, gone), *diagnostics]


def _is_meant(entry: Locked, key: Key, starts: Starts) -> bool:
    """Whether the removal is intended: the lock marks it, or a merge removed it from `out/`."""
    return any(side.gone for side in (entry, *entry.others)) or bool(
        starts.members and key not in starts.members
    )


def _pools(
    starts: Starts, classes: list[NodeClass], gone: dict[Key, Locked]
) -> Iterator[Diagnostic]:
    """Pools whose nodes are in another pool now. For a removed class, CP246 names the pool."""
    now = {(node_class.cluster, node_class.target.pool) for node_class in classes}
    clusters = {node_class.cluster for node_class in classes}
    lost: dict[Key, list[Key]] = {}
    for key, entry in starts.lock.items():
        where = key[0], entry.pool
        if (
            entry.pool
            and where not in now
            and key not in gone
            and key[0] in clusters
            and not _is_meant(entry, key, starts)
        ):
            lost.setdefault(where, []).append(key)
    for (cluster, pool), keys in sorted(lost.items()):
        nodes = _count(keys, starts)
        place = starts.lock[keys[0]].position
        yield diagnose(
            "CP245",
            place,
            pool=pool,
            cluster=cluster,
            nodes=nodes,
            classes=joined([key[1] for key in keys]),
        )


def _cluster(cluster: str, gone: dict[Key, Locked], starts: Starts) -> Diagnostic:
    first, *others = gone.values()
    named = [(_place(entry), _layout(entry)) for entry in others[: _MOST - 1]]
    names = [key[1] for key in gone]
    return diagnose(
        "CP244",
        _place(first),
        label=_layout(first),
        labels=[Label(where, layout) for where, layout in named if where],
        cluster=cluster,
        many=counted(len(names), "class"),
        nodes=_count(gone, starts),
        classes=first_of(names, _MOST),
    )


def _class(key: Key, entry: Locked, starts: Starts) -> Diagnostic:
    pool = f" of pool {entry.pool}" if entry.pool else ""
    nodes = _count([key], starts)
    return diagnose(
        "CP246",
        _place(entry),
        name=key[1],
        cluster=key[0],
        nodes=nodes,
        pool=pool,
        layout=_layout(entry),
    )


def _layout(entry: Locked) -> str:
    return ", ".join(f"{name} {cpus}" for name, cpus in entry.pools.items() if cpus)


def _place(entry: Locked) -> Position | None:
    return entry.position if entry.position.line else None


def _count(keys: Iterable[Key], starts: Starts) -> str:
    """How many nodes they had, which is unknown without `out/`."""
    number = sum(len(starts.members.get(key, ())) for key in keys)
    return counted(number, "node") if number else "its nodes"
