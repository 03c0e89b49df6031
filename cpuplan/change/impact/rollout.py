"""In which rounds nodes are drained, booted or made anew: so many of a pool at a time."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from cpuplan.change.impact import waves
from cpuplan.change.impact.comparison import Comparison
from cpuplan.change.impact.impact import Impact
from cpuplan.change.impact.sides import Pair, Side
from cpuplan.fleet.before import Key
from cpuplan.plan import ConfiguredPlan, Plan

_PERCENT = re.compile(r"([0-9]{1,3})%\Z")
#: What the machine config operator and careful people do without an answer.
_ONE = 1
_POOL = "MachineConfigPool"
#: Of nodes in no wave.
_LAST = 1_000_000


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
    """Nodes that leave service together: of a MachineConfigPool, or of an intent elsewhere.

    `wave` is empty for nodes in no wave, which come last.
    """

    cluster: str
    group: str
    is_pool: bool
    wave: str
    nodes: int
    impact: Impact
    at_once: int
    limit: Limit

    @property
    def number(self) -> int:
        """How many rounds it takes."""
        return math.ceil(self.nodes / self.at_once)


class _Group(NamedTuple):
    """What nodes have in common that go in the same rounds; waves by their order."""

    #: Of the cluster: the number of the wave that takes it whole.
    turn: int
    cluster: str
    name: str
    is_pool: bool
    order: int = _LAST
    wave: str = ""


class _Part(NamedTuple):
    """The nodes of a class that are in one wave."""

    group: _Group
    nodes: int
    #: What its rollout states; empty for nothing.
    limit: str


def is_limit(text: str) -> bool:
    """Whether a text is a number of nodes from 1 on, or a percentage."""
    percent = _PERCENT.match(text)
    return 1 <= int(percent[1]) <= 100 if percent else text.isdigit() and int(text) >= 1


def rounds(
    comparison: Comparison, plan: Plan, sides: tuple[Side, Side], asked: str
) -> tuple[Rounds, ...]:
    """The rounds of each pool or intent, in the order in which clusters and waves go.

    `asked` is the limit of plain nodes.
    """
    sizes, limits = _sizes(plan.nodes), _Limits(sides[1], asked)
    by_key = {node.node_class.key: node for node in plan.nodes}
    parts: dict[_Group, list[tuple[_Part, Impact]]] = {}
    for change in comparison.changes:
        if change.impact >= Impact.DRAIN:
            for part in _parts_of(change.pair, by_key, sides[0]):
                parts.setdefault(part.group, []).append((part, change.impact))
    return tuple(_rounds(key, parts[key], sizes.get(key, 0), limits) for key in sorted(parts))


def _parts_of(pair: Pair, plans: Mapping[Key, ConfiguredPlan], before: Side) -> Iterable[_Part]:
    """Nodes of a pair by their waves; those that are gone by the pool or intent that they had."""
    node = plans.get(pair.after) if pair.after else None
    if node:
        return _parts(node, pair.nodes)
    was = before.classes[pair.before] if pair.before else {}
    pool = was.get("pool")
    group = _Group(_LAST, pair.cluster, str(pool or was.get("intent", "")), bool(pool))
    return [_Part(group, len(pair.nodes), "")]


def _rounds(
    key: _Group, members: Sequence[tuple[_Part, Impact]], size: int, limits: "_Limits"
) -> Rounds:
    nodes = sum(part.nodes for part, _ in members)
    worst = max(impact for _, impact in members)
    limit = limits.of(key, members[0][0].limit)
    at_once = min(limit.of(max(size, nodes)), nodes)
    return Rounds(key.cluster, key.name, key.is_pool, key.wave, nodes, worst, at_once, limit)


def _sizes(nodes: Iterable[ConfiguredPlan]) -> Mapping[_Group, int]:
    """All nodes of each group: percentages are of these."""
    sizes: dict[_Group, int] = {}
    for node in nodes:
        for part in _parts(node, node.node_class.nodes):
            sizes[part.group] = sizes.get(part.group, 0) + part.nodes
    return sizes


def _parts(node: ConfiguredPlan, names: Sequence[str]) -> Iterator[_Part]:
    """Nodes of a class by the waves that they are in, in the order of the waves."""
    of = node.node_class
    pool = of.machine_config_pool
    known, left = waves.of(node), set(names)
    turn = known.of_cluster
    group = _Group(
        turn.number if turn else _LAST,
        *(of.cluster, pool or of.intent, bool(pool), _LAST),
        turn.name if turn else "",
    )
    for wave in known.waves:
        chosen = left & set(wave.nodes)
        left -= chosen
        if chosen:
            own = group._replace(order=wave.number, wave=wave.name)
            yield _Part(own, len(chosen), wave.limit or known.limit)
    if left:
        yield _Part(group, len(left), (turn.limit if turn else "") or known.limit)


class _Limits:
    """The limits of pools, from their objects, and the one of all other nodes."""

    def __init__(self, after: Side, asked: str) -> None:
        self._after, self._asked = after, asked
        self._pools: dict[str, dict[str, Limit]] = {}

    def of(self, group: _Group, stated: str) -> Limit:
        """The limit of a group; `stated` is that of its rollout."""
        if not group.is_pool:
            return Limit(stated, "rollout") if stated else Limit(self._asked)
        if group.cluster not in self._pools:
            self._pools[group.cluster] = dict(_of_pools(self._after, group.cluster))
        return self._pools[group.cluster].get(group.name, Limit(str(_ONE)))


def _of_pools(side: Side, cluster: str) -> Iterator[tuple[str, Limit]]:
    for each in side.objects(cluster).values():
        if each.id.kind == _POOL:
            stated = str(each.data.get("spec", {}).get("maxUnavailable", _ONE))
            # The operator takes 0, and what it does not understand, for one node.
            is_taken = is_limit(stated)
            yield each.id.name, Limit(stated if is_taken else str(_ONE), each.path)
