"""Nodes documents to groups of nodes: which intent claims them, and in which wave they are.

A wave without nodes and labels takes whole clusters, which get their turn one after another
(`backends/synced.py`). The others order the nodes of one cluster.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from fnmatch import translate
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from cpuplan.base import naming
from cpuplan.base.cpuset import EMPTY, CpuSet
from cpuplan.base.naming import MOST, TOO_MANY, expand_all, expand_names
from cpuplan.base.text import clip, counted, did_you_mean
from cpuplan.diagnostics import Diagnostic, Label, diagnose
from cpuplan.diagnostics.source import Position
from cpuplan.fleet import hardware
from cpuplan.language.model.intent import IntentSpec
from cpuplan.language.model.inventory import Device, NodeGroup, NodesSpec
from cpuplan.language.model.rollout import Selector
from cpuplan.language.read.documents import Document, Documents
from cpuplan.plan import NodeClass, Wave

#: The most nodes that ranges of names give in one project. The largest fleet that was measured has
#: 200,000, and each takes about half a kilobyte in every stage.
MOST_IN_RANGES = 500_000
#: Characters of names that a message repeats.
_SHOWN = 100


class Group(NamedTuple):
    """Nodes of one group of a Nodes document: the same hardware, labels and facts."""

    document: Document
    number: int  # of the group in its document
    cluster: str
    names: tuple[str, ...]
    hardware: str
    labels: dict[str, str]
    offline: CpuSet
    devices: tuple[Device, ...]


def build_groups(documents: Documents, diagnostics: list[Diagnostic]) -> list[Group]:
    """The groups of all Nodes documents; what is wrong with them is added to `diagnostics`."""
    groups = list(_groups(documents, diagnostics))
    _check_unique(groups, diagnostics)
    return groups


def _groups(documents: Documents, diagnostics: list[Diagnostic]) -> Iterator[Group]:
    known = {document.name for document in documents.of_kind("Hardware")}
    in_ranges = 0
    for document in documents.of_kind("Nodes"):
        spec: NodesSpec = document.spec
        for index, group in enumerate(spec.nodes):
            names = _names(document, index, group, diagnostics)
            in_ranges += len(names) if len(names) > 1 else 0
            if len(names) > 1 and in_ranges > MOST_IN_RANGES:
                problem = f"the ranges of a project expand to at most {MOST_IN_RANGES:,} names"
                place = document.at("nodes", index, "name")
                diagnostics.append(unreadable(place, group.name, problem))
                names = ()
            named = group.hardware or spec.hardware
            if named is None:
                diagnostics.append(
                    diagnose(
                        "CP223", document.at("nodes", index, "name"), name=clip(group.name, _SHOWN)
                    )
                )
            elif named not in known and not documents.may_define("Hardware", named):
                place = (
                    document.at("nodes", index, "hardware")
                    if group.hardware
                    else document.at("hardware")
                )
                diagnostics.append(
                    diagnose("CP222", place, hardware=named, hint=_hardware_hint(named, known))
                )
            labels = {**spec.labels, **group.labels}
            yield Group(
                document,
                index,
                spec.cluster,
                names,
                named or "",
                labels,
                group.offline or EMPTY,
                group.devices,
            )


def _hardware_hint(name: str, known: set[str]) -> str:
    if hardware.find_in_catalog(name):
        return f"`cpuplan catalog {name}` copies it from the catalogue into inventories/"
    if known:
        return did_you_mean(name, known)
    return "define it in a Hardware document under inventories/"


def _names(
    document: Document, index: int, group: NodeGroup, diagnostics: list[Diagnostic]
) -> tuple[str, ...]:
    place = document.at("nodes", index, "name")
    try:
        names = tuple(expand_names(group.name))
    except ValueError as error:
        diagnostics.append(unreadable(place, group.name, str(error)))
        return ()
    for name in names:
        problem = naming.problem_of(name, naming.LONGEST_NODE)
        if problem:
            problem = f"{clip(name, _SHOWN)!r} {problem}"
            diagnostics.append(unreadable(place, group.name, problem))
            return ()
    return names


def unreadable(place: Position | None, names: str, problem: str) -> Diagnostic:
    """CP228: text that should be the name of a node, or a range of names."""
    return diagnose("CP228", place, name=clip(names, _SHOWN), problem=problem)


def _check_unique(groups: Iterable[Group], diagnostics: list[Diagnostic]) -> None:
    seen: dict[tuple[str, str], Group] = {}
    for group in groups:
        for name in group.names:
            first = seen.setdefault((group.cluster, name), group)
            if first is not group:
                diagnostics.append(
                    diagnose(
                        "CP224",
                        group.document.at("nodes", group.number, "name"),
                        labels=[
                            Label(first.document.at("nodes", first.number, "name"), "the first one")
                        ],
                        node=name,
                        cluster=group.cluster,
                    )
                )
                break


class Claim(NamedTuple):
    """Nodes of a group that exactly one intent selects."""

    intent: Document
    group: Group
    names: tuple[str, ...]


def build_claims(
    documents: Documents, groups: list[Group], diagnostics: list[Diagnostic]
) -> list[Claim]:
    """What intents select; findings on nodes and selectors are added to `diagnostics`.

    They are nodes that two intents or none select, and selectors without nodes.
    """
    claims = []
    labelled = _by_label(groups)
    owner: dict[tuple[str, str], Document] = {}
    for intent in documents.of_kind("Intent"):
        spec: IntentSpec = intent.spec
        is_used = False
        for group in _candidates(spec.selector, groups, labelled):
            names = _selected(intent, spec.selector, group, diagnostics)
            is_used = is_used or bool(names)
            mine: list[str] = []
            clash: list[str] = []
            for name in names:
                is_mine = owner.setdefault((group.cluster, name), intent) is intent
                (mine if is_mine else clash).append(name)
            if clash:
                first = owner[group.cluster, clash[0]]
                diagnostics.append(_claimed_twice(intent, first, group.cluster, clash))
            if mine:
                claims.append(Claim(intent, group, tuple(mine)))
        if is_used and spec.selector == Selector.model_construct():
            diagnostics.append(_everything(intent, groups))
        # Names that could not be read (CP228) may be the ones that are selected.
        if (
            not is_used
            and all(group.names for group in groups)
            and not documents.may_define("Nodes")
        ):
            code = "CP225" if groups or not intent.written_as else "CP233"
            diagnostics.append(diagnose(code, intent.at("selector"), intent=intent.name))
    for group in groups if not documents.may_define("Intent") else ():
        free = [name for name in group.names if (group.cluster, name) not in owner]
        if free:
            diagnostics.append(_unselected(group, free))
    return claims


#: Groups by one of their labels.
_Labelled: TypeAlias = Mapping[tuple[str, str], list[Group]]


def _by_label(groups: Iterable[Group]) -> _Labelled:
    labelled: dict[tuple[str, str], list[Group]] = {}
    for group in groups:
        for label in group.labels.items():
            labelled.setdefault(label, []).append(group)
    return labelled


def _candidates(
    selector: Selector, groups: Sequence[Group], labelled: _Labelled
) -> Sequence[Group]:
    """The groups with one label of a selector, so that no intent looks at those of all others."""
    label = next(iter(selector.match_labels.items()), None)
    return groups if label is None else labelled.get(label, ())


def _everything(intent: Document, groups: list[Group]) -> Diagnostic:
    nodes = counted(sum(len(group.names) for group in groups), "node")
    clusters = counted(len({group.cluster for group in groups}), "cluster")
    return diagnose(
        "CP247", intent.at("selector"), intent=intent.name, nodes=nodes, clusters=clusters
    )


def selects(selector: Selector, group: Group) -> tuple[str, ...]:
    """The nodes of `group` that fit everything in `selector`; all of them for an empty one."""
    if selector.clusters and group.cluster not in selector.clusters:
        return ()
    if any(group.labels.get(key) != value for key, value in selector.match_labels.items()):
        return ()
    if not selector.nodes:
        return group.names
    wanted, globs = _wanted(selector.nodes)
    return tuple(
        name for name in group.names if name in wanted or (globs is not None and globs.match(name))
    )


@lru_cache(maxsize=16)
def _wanted(patterns: tuple[str, ...]) -> tuple[frozenset[str], re.Pattern[str] | None]:
    """The names of patterns without `*`, and what the other patterns are together.

    Made once for an intent, and not for each group of nodes.
    """
    names = frozenset(expand_all(pattern for pattern in patterns if "*" not in pattern))
    globs = [translate(pattern) for pattern in patterns if "*" in pattern]
    return names, re.compile("|".join(globs)) if globs else None


def _selected(
    intent: Document, selector: Selector, group: Group, diagnostics: list[Diagnostic]
) -> tuple[str, ...]:
    try:
        return selects(selector, group)
    except ValueError as error:
        place = intent.at("selector", "nodes")
        problem = unreadable(place, ", ".join(selector.nodes), str(error))
        if problem not in diagnostics:
            diagnostics.append(problem)
        return ()


def _claimed_twice(intent: Document, first: Document, cluster: str, names: list[str]) -> Diagnostic:
    return diagnose(
        "CP220",
        intent.at("selector"),
        labels=[Label(first.at("selector"), f"{first.name} selects it here")],
        node=names[0] if len(names) == 1 else f"{names[0]} (and {len(names) - 1} more)",
        cluster=cluster,
        first=first.name,
        second=intent.name,
    )


def _unselected(group: Group, names: list[str]) -> Diagnostic:
    shown = (
        f"node {names[0]}" if len(names) == 1 else f"{len(names)} nodes ({names[0]} to {names[-1]})"
    )
    place = group.document.at("nodes", group.number, "name")
    return diagnose(
        "CP221", place, nodes=shown, cluster=group.cluster, they="it" if len(names) == 1 else "they"
    )


def waves_of_class(spec: IntentSpec, alike: Sequence[Claim]) -> tuple[Wave, ...]:
    """The waves that have nodes of a class; a node is in the first one that selects it."""
    left = {name for claim in alike for name in claim.names}
    waves = []
    for number, wave in enumerate(spec.rollout.waves):
        if not wave.is_of_clusters:
            chosen = {name for claim in alike for name in _wave_members(wave, claim)} & left
            left -= chosen
            if chosen:
                waves.append(Wave(number, wave.name, tuple(sorted(chosen))))
    return tuple(waves)


def _wave_members(wave: Selector, claim: Claim) -> tuple[str, ...]:
    try:
        return selects(wave, claim.group)
    except ValueError:  # that is CP228
        return ()


def check_waves(documents: Documents, classes: Iterable[NodeClass]) -> Iterator[Diagnostic]:
    """CP228, CP664 and CP665, for the waves of all intents."""
    by_intent: dict[str, list[NodeClass]] = {}
    clusters: set[str] = set()
    for node_class in classes:
        clusters.add(node_class.cluster)
        by_intent.setdefault(node_class.intent, []).append(node_class)
    for intent in documents.of_kind("Intent"):
        yield from _repeated_names(intent)
        if problems := list(_ranges(intent)):
            yield from problems
            continue
        # An intent whose nodes are unknown is reported elsewhere.
        if members := by_intent.get(intent.name):
            yield from _empty(intent, members, clusters)


def _repeated_names(intent: Document) -> Iterator[Diagnostic]:
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
