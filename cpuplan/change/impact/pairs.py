"""The nodes of two sides, paired: all of a pair were in one class and are in one class now."""

from collections.abc import Iterator, Mapping

from cpuplan.change.impact.sides import Pair, Side
from cpuplan.fleet.before import Key

#: A cluster and a node of it.
Node = tuple[str, str]


def pairs(before: Side, after: Side) -> tuple[Pair, ...]:
    """All nodes of both sides, by cluster and class: that of now, else that of before."""
    groups: dict[tuple[str, Key | None, Key | None], list[str]] = {}
    for node in sorted(before.by_node.keys() | after.by_node.keys()):
        key = node[0], before.by_node.get(node), after.by_node.get(node)
        groups.setdefault(key, []).append(node[1])
    found = (Pair(old, new, cluster, tuple(names)) for (cluster, old, new), names in groups.items())
    return tuple(sorted(found, key=_order))


def _order(pair: Pair) -> tuple[Key, bool, Key]:
    key = pair.after or pair.before or ("", "")
    return key, pair.after is None, pair.before or ("", "")


def moved(before: Side, after: Side) -> Mapping[Node, Node]:
    """Nodes that left a cluster and came to another one under the same name, and where they were.

    A node whose name came to, or left, several clusters is none of them.
    """
    came = _by_name(after.by_node.keys() - before.by_node.keys())
    left = _by_name(before.by_node.keys() - after.by_node.keys())
    return dict(_unique(came, left))


def _unique(
    came: Mapping[str, list[Node]], left: Mapping[str, list[Node]]
) -> Iterator[tuple[Node, Node]]:
    for name in sorted(came.keys() & left.keys()):
        if len(came[name]) == len(left[name]) == 1:
            yield came[name][0], left[name][0]


def _by_name(nodes: set[Node]) -> dict[str, list[Node]]:
    names: dict[str, list[Node]] = {}
    for node in sorted(nodes):
        names.setdefault(node[1], []).append(node)
    return names
