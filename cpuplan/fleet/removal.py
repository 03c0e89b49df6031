"""What was compiled before and is gone now: it vanishes from nodes only when somebody says that
this is meant.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby

from cpuplan.diagnostics import Diagnostic, Label, diagnose
from cpuplan.fleet.lock import Key, Locked, Starts
from cpuplan.plan import NodeClass
from cpuplan.source import Position
from cpuplan.text import counted, first_of, joined

#: More classes of a cluster are not named.
_MOST = 5


def left(starts: Starts, classes: Iterable[NodeClass]) -> dict[Key, Locked]:
    """The locked layouts whose classes are gone: no other class took most of their nodes over.

    Where nobody knows the nodes, one that starts from the layout has taken them.
    """
    classes = list(classes)
    nodes = {(each.cluster, name) for each in classes for name in each.nodes}
    taken = {start.key for each in classes for start in starts.of(each)}

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
    clusters = {each.cluster for each in classes}
    found = []
    for cluster, keys in groupby(sorted(gone), key=lambda key: key[0]):
        told = {key: gone[key] for key in keys}
        if cluster not in clusters:
            found.append(_cluster(cluster, told, starts))
        else:
            found += [_class(key, entry, starts) for key, entry in told.items()]
    return [*_pools(starts, classes, gone), *found]


def _is_meant(entry: Locked, key: Key, starts: Starts) -> bool:
    """Whether somebody said so: in the lock, or on a branch whose `out/` was merged, so that it
    vanishes from there.
    """
    return any(each.gone for each in (entry, *entry.others)) or bool(
        starts.members and key not in starts.members
    )


def _pools(
    starts: Starts, classes: list[NodeClass], gone: dict[Key, Locked]
) -> Iterator[Diagnostic]:
    """Pools whose nodes are in another one now; of a class that is gone its own diagnostic names
    the pool.
    """
    now = {(each.cluster, each.target.pool) for each in classes}
    clusters = {each.cluster for each in classes}
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
    told = [(_place(entry), _layout(entry)) for entry in others[: _MOST - 1]]
    names = [key[1] for key in gone]
    return diagnose(
        "CP244",
        _place(first),
        label=_layout(first),
        labels=[Label(where, layout) for where, layout in told if where],
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
    """How many nodes they had; nothing is known of them where `out/` is not there."""
    number = sum(len(starts.members.get(key, ())) for key in keys)
    return counted(number, "node") if number else "its nodes"
