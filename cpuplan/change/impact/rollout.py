"""How a change reaches the nodes: in which rounds, at what price at most, and who loses CPUs."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cpuplan.base.text import counted
from cpuplan.change.impact.comparison import Change, Comparison
from cpuplan.change.impact.rule_table import SECOND_REBOOT
from cpuplan.change.impact.snapshot import Pair, Snapshot
from cpuplan.components import derived
from cpuplan.components.dra import driver
from cpuplan.components.nri import balloons, topologyaware
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate, Position
from cpuplan.facts.settings.costs import Impact
from cpuplan.fleet.previous import Key
from cpuplan.plan import ConfiguredPlan, Plan
from cpuplan.plan.expected.state import Expected
from cpuplan.simulate import comparison, mechanisms
from cpuplan.simulate.fleet import full_name
from cpuplan.simulate.manifests import Item

if TYPE_CHECKING:
    from cpuplan.language.model.rollout import Rollout


class Wave(NamedTuple):
    """Nodes that go together, before those of the next number; `limit` is how many at once."""

    number: int
    name: str
    nodes: tuple[str, ...]
    limit: str = ""


class Waves(NamedTuple):
    """What the intent of a class states; empty where it states nothing."""

    waves: tuple[Wave, ...] = ()
    limit: str = ""
    max_impact: str = ""
    #: The wave in which its whole cluster goes; None where it is in none, and goes last.
    of_cluster: Wave | None = None


def waves_of(node: ConfiguredPlan) -> Waves:
    """The rollout of a class of nodes."""
    stated, node_class = node.spec.rollout, node.node_class
    waves = [
        Wave(wave.number, wave.name, wave.nodes, _text(stated.waves[wave.number].max_unavailable))
        for wave in node_class.waves
    ]
    turn = _of_cluster(stated, node_class.cluster)
    return Waves(tuple(waves), _text(stated.max_unavailable), stated.max_impact or "", turn)


def _of_cluster(stated: "Rollout", cluster: str) -> Wave | None:
    for number, wave in enumerate(stated.waves):
        if wave.is_of_clusters and (not wave.clusters or cluster in wave.clusters):
            return Wave(number, wave.name, (), _text(wave.max_unavailable))
    return None


def _text(limit: int | str | None) -> str:
    return "" if limit is None else str(limit)


#: What gives out CPUs, by the component whose settings say so.
_BY_COMPONENT = {
    balloons.NAME: mechanisms.BALLOONS,
    topologyaware.NAME: mechanisms.TOPOLOGY_AWARE,
    driver.NAME: mechanisms.DRA,
}


def check_lost_cpus(
    changes: Iterable[Change],
    before: Snapshot,
    plans: Mapping[Key, ConfiguredPlan],
    items: Sequence[Item],
) -> Iterator[tuple[Diagnostic, str]]:
    """CP628 for each pod and class whose mechanism changes, with the name of that class."""
    for change in changes:
        old, new = change.pair.before, change.pair.after
        state = before.state(old) if old else None
        if state is None or new is None or new not in plans:
            continue
        node_class = plans[new].node_class
        was, now = mechanism_of(state), node_class.target.mechanism
        for item in items if was != now else ():
            if comparison.is_served(item.pod, was) and not comparison.is_served(item.pod, now):
                yield _lost(item, was, now), node_class.full_name


def mechanism_of(state: Expected) -> str:
    """The mechanism that a class was compiled for."""
    if state.facts.get(derived.KOORDLET):
        return mechanisms.KOORDINATOR
    for component, mechanism in _BY_COMPONENT.items():
        if state.settings.of(component):
            return mechanism
    return mechanisms.KUBELET


def _lost(item: Item, was: str, now: str) -> Diagnostic:
    return diagnose(
        "CP628",
        item.place(),
        pod=full_name(item.pod),
        before=mechanisms.mechanism_words(was),
        after=mechanisms.mechanism_words(now),
        wanted=comparison.wanted_of_pods(now) or "whole CPUs, and limits that equal its requests",
    )


def check_limits(
    comparison: Comparison, plan: Plan, locate: Locate, asked: str | None
) -> Iterator[Diagnostic]:
    """CP683, for all nodes by the option, and for those of each intent by its rollout."""
    if asked:
        yield from _above(comparison.changes, asked, "--max-impact", None)
    by_key = {node.node_class.key: node for node in plan.nodes}
    intents: dict[tuple[str, str], list[Change]] = {}
    for change in comparison.changes:
        node = by_key.get(change.pair.after) if change.pair.after else None
        if node and (allowed := waves_of(node).max_impact):
            intents.setdefault((node.node_class.intent, allowed), []).append(change)
    for (intent, allowed), changes in sorted(intents.items()):
        limit = f"rollout.maxImpact of intent {intent}"
        place = locate(f"Intent/{intent}:spec.rollout.maxImpact")
        yield from _above(changes, allowed, limit, place)


def _above(
    changes: Iterable[Change], allowed: str, limit: str, place: Position | None
) -> Iterator[Diagnostic]:
    """The nodes with the worst impact, if that is more than is allowed."""
    above = [change for change in changes if change.impact > Impact[allowed.upper()]]
    if above:
        worst = max(change.impact for change in above)
        nodes = sum(len(change.pair.nodes) for change in above if change.impact == worst)
        yield diagnose(
            "CP683",
            place,
            nodes=counted(nodes, "node"),
            impact=worst.word,
            limit=limit,
            allowed=allowed,
        )


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
    #: How often each node boots at most.
    reboots: int

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
    reboots: int = 0


def is_limit(text: str) -> bool:
    """Whether a text is a number of nodes from 1 on, or a percentage."""
    percent = _PERCENT.match(text)
    return 1 <= int(percent[1]) <= 100 if percent else text.isdigit() and int(text) >= 1


def rounds(
    comparison: Comparison, plan: Plan, sides: tuple[Snapshot, Snapshot], asked: str
) -> tuple[Rounds, ...]:
    """The rounds of each pool or intent, in the order in which clusters and waves go.

    `asked` is the limit of plain nodes.
    """
    sizes, limits = _sizes(plan.nodes), _Limits(sides[1], asked)
    by_key = {node.node_class.key: node for node in plan.nodes}
    parts: dict[_Group, list[tuple[_Part, Impact]]] = {}
    for change in comparison.changes:
        if change.impact >= Impact.DRAIN:
            reboots = _reboots(change)
            for part in _parts_of(change.pair, by_key, sides[0]):
                told = part._replace(reboots=reboots)
                parts.setdefault(part.group, []).append((told, change.impact))
    return tuple(_rounds(key, parts[key], sizes.get(key, 0), limits) for key in sorted(parts))


def _reboots(change: Change) -> int:
    """How often a node of a class boots at most."""
    twice = any(step.rule == SECOND_REBOOT for step in change.steps)
    return int(change.impact >= Impact.REBOOT) + twice


def _parts_of(pair: Pair, plans: Mapping[Key, ConfiguredPlan], before: Snapshot) -> Iterable[_Part]:
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
    reboots = max(part.reboots for part, _ in members)
    return Rounds(
        key.cluster, key.name, key.is_pool, key.wave, nodes, worst, at_once, limit, reboots
    )


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
    known, left = waves_of(node), set(names)
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

    def __init__(self, after: Snapshot, asked: str) -> None:
        self._after, self._asked = after, asked
        self._pools: dict[str, dict[str, Limit]] = {}

    def of(self, group: _Group, stated: str) -> Limit:
        """The limit of a group; `stated` is that of its rollout."""
        if not group.is_pool:
            return Limit(stated, "rollout") if stated else Limit(self._asked)
        if group.cluster not in self._pools:
            self._pools[group.cluster] = dict(_of_pools(self._after, group.cluster))
        return self._pools[group.cluster].get(group.name, Limit(str(_ONE)))


def _of_pools(side: Snapshot, cluster: str) -> Iterator[tuple[str, Limit]]:
    for pool in side.objects(cluster).values():
        if pool.id.kind == _POOL:
            stated = str(pool.data.get("spec", {}).get("maxUnavailable", _ONE))
            # The operator takes 0, and what it does not understand, for one node.
            is_taken = is_limit(stated)
            yield pool.id.name, Limit(stated if is_taken else str(_ONE), pool.path)
