"""Which nodes of a class are in which wave of its rollout.

A wave without nodes and labels takes whole clusters, which get their turn one after another
(`backends/synced.py`). The others order the nodes of one cluster.
"""

from collections.abc import Iterable, Iterator, Sequence, Set

from cpuplan.base.name_ranges import MOST, TOO_MANY, expand_names
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.fleet.claims import Claim, selects
from cpuplan.fleet.groups import unreadable
from cpuplan.language.model.intent import IntentSpec
from cpuplan.language.model.rollout.selector import Selector
from cpuplan.language.read.documents import Document, Documents
from cpuplan.plan import NodeClass, Wave


def of_class(spec: IntentSpec, alike: Sequence[Claim]) -> tuple[Wave, ...]:
    """The waves that have nodes of a class; a node is in the first one that selects it."""
    left = {name for claim in alike for name in claim.names}
    found = []
    for number, wave in enumerate(spec.rollout.waves):
        if not wave.is_of_clusters:
            chosen = {name for claim in alike for name in _selected(wave, claim)} & left
            left -= chosen
            if chosen:
                found.append(Wave(number, wave.name, tuple(sorted(chosen))))
    return tuple(found)


def _selected(wave: Selector, claim: Claim) -> tuple[str, ...]:
    try:
        return selects(wave, claim.group)
    except ValueError:  # that is CP228
        return ()


def check(documents: Documents, classes: Iterable[NodeClass]) -> Iterator[Diagnostic]:
    """CP228, CP664 and CP665, for the waves of all intents."""
    by_intent: dict[str, list[NodeClass]] = {}
    clusters: set[str] = set()
    for node_class in classes:
        clusters.add(node_class.cluster)
        by_intent.setdefault(node_class.intent, []).append(node_class)
    for intent in documents.of_kind("Intent"):
        yield from _names(intent)
        if problems := list(_ranges(intent)):
            yield from problems
            continue
        # An intent whose nodes are unknown is reported elsewhere.
        if members := by_intent.get(intent.name):
            yield from _empty(intent, members, clusters)


def _names(intent: Document) -> Iterator[Diagnostic]:
    """CP664: a name of two waves."""
    seen: set[str] = set()
    for index, wave in enumerate(intent.spec.rollout.waves):
        if wave.name in seen:
            yield diagnose("CP664", intent.at("rollout", "waves", index, "name"), wave=wave.name)
        seen.add(wave.name)


def _ranges(intent: Document) -> Iterator[Diagnostic]:
    """CP228: ranges of names that cannot be read."""
    for index, wave in enumerate(intent.spec.rollout.waves):
        count = 0
        for number, pattern in enumerate(wave.nodes):
            try:
                count += len(expand_names(pattern))
                if count > MOST:
                    raise ValueError(TOO_MANY)
            except ValueError as error:
                place = intent.at("rollout", "waves", index, "nodes", number)
                yield unreadable(place, pattern, str(error))


def _empty(
    intent: Document, members: Sequence[NodeClass], clusters: Set[str]
) -> Iterator[Diagnostic]:
    """CP665: a wave without nodes that are not in an earlier one.

    A wave of clusters has those of all intents: they have the same waves (CP676).
    """
    with_nodes = {wave.number for node_class in members for wave in node_class.waves}
    taken: set[str] = set()
    for index, wave in enumerate(intent.spec.rollout.waves):
        mine = set(wave.clusters) & clusters - taken if wave.clusters else clusters - taken
        if wave.is_of_clusters:
            taken |= mine
        if not (mine if wave.is_of_clusters else index in with_nodes):
            place = intent.at("rollout", "waves", index)
            yield diagnose("CP665", place, wave=wave.name, intent=intent.name)
