"""Which intent claims which nodes."""

import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import translate
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from cpuplan.base.name_ranges import expand_all
from cpuplan.base.text import counted
from cpuplan.diagnostics import Diagnostic, Label, diagnose
from cpuplan.fleet.groups import Group, unreadable
from cpuplan.language.model.intent import IntentSpec
from cpuplan.language.model.rollout.selector import Selector
from cpuplan.language.read.documents import Document, Documents


class Claim(NamedTuple):
    """Nodes of a group that exactly one intent selects."""

    intent: Document
    group: Group
    names: tuple[str, ...]


def build(documents: Documents, groups: list[Group], diagnostics: list[Diagnostic]) -> list[Claim]:
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
        if is_used and spec.selector == Selector():
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
