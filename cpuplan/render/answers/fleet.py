"""The answers on many nodes, grouped by what differs: no node has lines of its own."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from cpuplan.diagnostics import Diagnostic
from cpuplan.expected.answer import Answer, Heals, Verdict
from cpuplan.name_ranges import fold_names
from cpuplan.render.answers.summary import by_verdict, counts, why
from cpuplan.render.columns import table
from cpuplan.text import counted

#: Names and ranges of nodes in a message.
_MAX_NAMES = 4
#: Nodes that are told instead of those that differ.
_MAX_OTHERS = 3


class Checked(NamedTuple):
    """What was checked: a node of a class, or with an empty class the objects of a cluster."""

    name: str
    cluster: str
    class_name: str
    digest: str
    answers: Sequence[Answer]

    @property
    def is_node(self) -> bool:
        return bool(self.class_name)


class Group(NamedTuple):
    """One difference, and the nodes that have it; none for one of the cluster's objects."""

    finding: Diagnostic
    facts: tuple[str, ...]
    observed: str
    expected: str
    heals: Heals | None
    nodes: tuple[str, ...]


def groups(checked: Iterable[Checked]) -> list[Group]:
    """Differences by what is observed and expected; those of most nodes first."""
    found: dict[tuple[str, ...], Group] = {}
    for each in checked:
        for answer in each.answers:
            if answer.finding is None:
                continue
            key = _key(answer, answer.finding, each.name)
            known = found.setdefault(key, _first(answer, answer.finding))
            nodes = (*known.nodes, each.name) if each.is_node else known.nodes
            facts = tuple(dict.fromkeys((*known.facts, _nameless(answer.fact, each.name))))
            found[key] = known._replace(nodes=tuple(dict.fromkeys(nodes)), facts=facts)
    return sorted(found.values(), key=lambda group: -len(group.nodes))


def _key(answer: Answer, finding: Diagnostic, name: str) -> tuple[str, ...]:
    """What makes two findings one: their values; without any, their words."""
    if answer.observed and answer.expected:
        return finding.code, answer.fact, answer.observed, answer.expected
    return finding.code, _nameless(finding.message, name)


def _nameless(text: str, name: str) -> str:
    """A text without the name of the node that it is about."""
    return re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", "NODE", text)


def _first(answer: Answer, finding: Diagnostic) -> Group:
    return Group(finding, (), answer.observed, answer.expected, answer.heals, ())


def findings(
    checked: Sequence[Checked], found: Iterable[Group], *, verbose: bool = False
) -> list[Diagnostic]:
    """A finding for each group, which says how many nodes have it, and which."""
    names = list(dict.fromkeys(each.name for each in checked if each.is_node))
    return [_finding(group, names, verbose=verbose) for group in found]


def _finding(group: Group, names: Sequence[str], *, verbose: bool) -> Diagnostic:
    finding, number = group.finding, len(group.nodes)
    if not number:
        return finding
    which = told(group.nodes, names, verbose=verbose)
    head = f"{number} of {counted(len(names), 'node')} ({which})"
    message, remedy = finding.message, finding.remedy
    if number > 1:
        message, remedy = (_nameless(text, group.nodes[0]) for text in (message, remedy))
    return finding._replace(message=f"{head}: {message}", remedy=remedy, stands_for=number)


def told(nodes: Sequence[str], every: Sequence[str], *, verbose: bool = False) -> str:
    """The nodes as ranges, or the few of `every` that are not among them."""
    others = [name for name in every if name not in set(nodes)]
    if not others and len(nodes) > 1:
        return "all"
    if 0 < len(others) <= _MAX_OTHERS < len(nodes):
        return f"all but {', '.join(fold_names(others))}"
    folded = fold_names(nodes)
    if verbose or len(folded) <= _MAX_NAMES:
        return ", ".join(folded)
    return f"{', '.join(folded[:_MAX_NAMES])} and {len(folded) - _MAX_NAMES} more"


def sentence(checked: Sequence[Checked]) -> str:
    """`38 of 40 nodes hold what was compiled for them (1,204 facts held, 2 differ, ...)`."""
    # A node of which there are several snapshots is one.
    nodes = {each.name for each in checked if each.is_node}
    holding = nodes - {each.name for each in checked if any(one.finding for one in each.answers)}
    total = dict.fromkeys(Verdict, 0)
    for each in checked:
        for verdict, number in counts(each.answers).items():
            total[verdict] += number
    held, differ, unknown = (f"{total[verdict]:,}" for verdict in Verdict)
    verb = "holds" if len(holding) == 1 else "hold"
    return (
        f"{len(holding)} of {counted(len(nodes), 'node')} {verb} what was compiled "
        f"({held} facts held, {differ} differ, {unknown} not verifiable here)"
    )


def by_class(checked: Sequence[Checked]) -> str:
    """A line for each of several classes: how many nodes hold, and which of them differ."""
    classes: dict[str, dict[str, list[Checked]]] = {}
    for each in checked:
        if each.is_node:
            own = classes.setdefault(f"{each.cluster}/{each.class_name}", {})
            own.setdefault(each.name, []).append(each)
    if len(classes) < 2:
        return ""
    head = ("CLASS", "NODES", "HOLD", "DIFFER", "NOT VERIFIABLE", "NODES THAT DIFFER")
    return table([head, *(_class_row(name, nodes) for name, nodes in classes.items())])


def _class_row(name: str, nodes: Mapping[str, Sequence[Checked]]) -> tuple[str, ...]:
    """Facts that cannot be verified are counted once, on however many nodes that is."""
    differing = [
        node
        for node, checks in nodes.items()
        if any(answer.finding for each in checks for answer in each.answers)
    ]
    unknown = {
        fact
        for checks in nodes.values()
        for each in checks
        for fact in by_verdict(each.answers)[Verdict.UNVERIFIABLE]
    }
    which = told(differing, list(nodes)) if differing else ""
    held = str(len(nodes) - len(differing))
    return name, str(len(nodes)), held, str(len(differing)), counted(len(unknown), "fact"), which


class Unverified(NamedTuple):
    """A fact that nothing shows on some nodes, and why."""

    fact: str
    reason: str
    nodes: tuple[str, ...]


def unverified(checked: Iterable[Checked]) -> list[Unverified]:
    """Facts that are not verifiable, by reason."""
    found: dict[tuple[str, str], list[str]] = {}
    for each in checked:
        for answer in each.answers:
            if answer.verdict is Verdict.UNVERIFIABLE:
                found.setdefault((answer.fact, answer.reason), []).append(each.name)
    return [Unverified(*key, tuple(nodes)) for key, nodes in found.items()]


def coverage(checked: Sequence[Checked]) -> str:
    """A line for each verdict on each fact, with the nodes that have it."""
    rows: dict[tuple[str, str, str], list[str]] = {}
    for each in checked:
        for answer in each.answers:
            key = (answer.fact, answer.verdict.value, why(answer))
            rows.setdefault(key, []).append(each.name)
    names = [each.name for each in checked]
    width = max(len(verdict.value) for verdict in Verdict)
    lines = []
    for (fact, verdict, reason), nodes in sorted(rows.items()):
        because = f" - {reason}" if reason else ""
        which = told(list(dict.fromkeys(nodes)), names)
        lines.append(f"{verdict.ljust(width)} {fact} ({which}){because}\n")
    return "".join(lines)
