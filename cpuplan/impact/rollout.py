"""In which rounds nodes are drained, booted or made anew: so many of a pool at a time."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from cpuplan.impact.comparison import Change, Comparison
from cpuplan.impact.impact import Impact
from cpuplan.impact.sides import Side
from cpuplan.plan import ConfiguredPlan, Plan

_PERCENT = re.compile(r"([0-9]{1,3})%\Z")
#: What the machine config operator and careful people do without an answer.
_ONE = 1
_POOL = "MachineConfigPool"


class Limit(NamedTuple):
    """How many nodes of a group may be unavailable at once: a number or a percentage."""

    text: str
    #: Where that is stated; empty for a default.
    source: str = ""

    def of(self, nodes: int) -> int:
        """The number for so many nodes: percentages are rounded down, and one node always goes."""
        percent = _PERCENT.match(self.text)
        number = math.floor(nodes * int(percent[1]) / 100) if percent else int(self.text)
        return max(number, _ONE)


class Rounds(NamedTuple):
    """Nodes that leave service together: of a MachineConfigPool, or of an intent elsewhere."""

    cluster: str
    group: str
    is_pool: bool
    nodes: int
    impact: Impact
    at_once: int
    limit: Limit

    @property
    def number(self) -> int:
        """How many rounds it takes."""
        return math.ceil(self.nodes / self.at_once)


def is_limit(text: str) -> bool:
    """Whether a text is a number of nodes from 1 on, or a percentage."""
    percent = _PERCENT.match(text)
    return 1 <= int(percent[1]) <= 100 if percent else text.isdigit() and int(text) >= 1


def rounds(comparison: Comparison, plan: Plan, after: Side, asked: str) -> tuple[Rounds, ...]:
    """The rounds of each pool or intent, by cluster. `asked` is the limit of plain nodes."""
    groups: dict[tuple[str, str, bool], list[Change]] = {}
    by_key = {node.node_class.key: node for node in plan.nodes}
    for change in comparison.changes:
        node = by_key.get(change.pair.after) if change.pair.after else None
        if node and change.pair.before and change.impact >= Impact.DRAIN:
            pool = node.node_class.machine_config_pool
            name = pool or node.node_class.intent
            groups.setdefault((change.pair.cluster, name, bool(pool)), []).append(change)
    limits = _Limits(after, asked)
    sizes = _sizes(plan.nodes)
    return tuple(
        _rounds(key, changes, limits.of(key), sizes[key]) for key, changes in sorted(groups.items())
    )


def _rounds(
    key: tuple[str, str, bool], changes: Iterable[Change], limit: Limit, size: int
) -> Rounds:
    members = list(changes)
    nodes = sum(len(change.pair.nodes) for change in members)
    worst = max(change.impact for change in members)
    return Rounds(*key, nodes, worst, min(limit.of(size), nodes), limit)


def _sizes(nodes: Iterable[ConfiguredPlan]) -> Mapping[tuple[str, str, bool], int]:
    """All nodes of each group: percentages are of these."""
    sizes: dict[tuple[str, str, bool], int] = {}
    for node in nodes:
        of = node.node_class
        key = of.cluster, of.machine_config_pool or of.intent, bool(of.machine_config_pool)
        sizes[key] = sizes.get(key, 0) + len(of.nodes)
    return sizes


class _Limits:
    """The limits of pools, from their objects, and the one of all other nodes."""

    def __init__(self, after: Side, asked: str) -> None:
        self._after, self._asked = after, asked
        self._pools: dict[str, dict[str, Limit]] = {}

    def of(self, key: tuple[str, str, bool]) -> Limit:
        """The limit of a pool or an intent."""
        cluster, name, is_pool = key
        if not is_pool:
            return Limit(self._asked)
        if cluster not in self._pools:
            self._pools[cluster] = dict(_stated(self._after, cluster))
        return self._pools[cluster].get(name, Limit(str(_ONE)))


def _stated(side: Side, cluster: str) -> Iterator[tuple[str, Limit]]:
    for each in side.objects(cluster).values():
        if each.id.kind == _POOL:
            stated = str(each.data.get("spec", {}).get("maxUnavailable", _ONE))
            # The operator takes 0, and what it does not understand, for one node.
            is_taken = is_limit(stated)
            yield each.id.name, Limit(stated if is_taken else str(_ONE), each.path)
