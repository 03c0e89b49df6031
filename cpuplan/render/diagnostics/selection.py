"""Which of many findings people are shown: the hundredth of a kind says nothing new."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from cpuplan.base.text import counted, listed
from cpuplan.diagnostics import Diagnostic

#: Of one code, findings that are all shown; of more, those in the first places.
MOST = 12
_FIRST = 3
#: At one place: those on classes of nodes differ in the class alone, others in what they say.
_AT_PLACE = 3
#: Files and classes that are named.
_NAMED = 3


class Shown(NamedTuple):
    """A finding, and further ones of its code at its place."""

    finding: Diagnostic
    more: tuple[Diagnostic, ...] = ()


class Left(NamedTuple):
    """Findings of one code that are not shown: at places where none is."""

    findings: tuple[Diagnostic, ...]


def selected(findings: Iterable[Diagnostic], *, every: bool) -> tuple[list[Shown], list[Left]]:
    """What is shown, in its order, and by code what is not; `every` shows all."""
    by_code: dict[str, list[Diagnostic]] = {}
    given = list(findings)
    if every:
        return [Shown(finding) for finding in given], []
    for finding in given:
        by_code.setdefault(finding.code, []).append(finding)
    chosen: dict[int, Shown] = {}
    left: list[Left] = []
    for _, alike in sorted(by_code.items()):
        groups = _by_place(alike)
        shown = groups if len(_heads(groups)) <= MOST else groups[:_FIRST]
        for group in shown:
            few = 1 if len(shown) < len(groups) else _few(group)
            chosen |= {id(finding): Shown(finding) for finding in group[: few - 1]}
            chosen[id(group[few - 1])] = Shown(group[few - 1], tuple(group[few:]))
        if rest := [finding for group in groups[len(shown) :] for finding in group]:
            left.append(Left(tuple(rest)))
    return [chosen[id(finding)] for finding in given if id(finding) in chosen], left


def _by_place(alike: Iterable[Diagnostic]) -> list[list[Diagnostic]]:
    """Groups of one place each; a finding without a line is a group of its own."""
    groups: dict[object, list[Diagnostic]] = {}
    for finding in alike:
        position = finding.position
        place: object = position[:3] if position and position.line else id(finding)
        groups.setdefault((place, finding.severity), []).append(finding)
    return list(groups.values())


def _heads(groups: Sequence[Sequence[Diagnostic]]) -> list[Diagnostic]:
    """What is shown of groups if all are."""
    return [finding for group in groups for finding in group[: _few(group)]]


def _few(group: Sequence[Diagnostic]) -> int:
    """How many of a place are shown."""
    if len(group) <= _AT_PLACE:
        return len(group)
    return 1 if all(finding.classes for finding in group) else _AT_PLACE


def more_here(more: Sequence[Diagnostic]) -> str:
    """`and 19 more here, on lab/a, lab/b, lab/c and 16 more; -v shows them`."""
    names = list(dict.fromkeys(name for finding in more for name in finding.classes))
    on = f", on {listed(names, _NAMED)}" if names else ""
    return f"and {len(more)} more here{on}; -v shows them"


def more_elsewhere(left: Left) -> str:
    """`and 90 more in 3 files: a.yaml (40), b.yaml (30), c.yaml (20); -v shows them`."""
    return f"and {len(left.findings)} more{''.join(_where(left.findings))}; -v shows them"


def _where(findings: Sequence[Diagnostic]) -> Iterator[str]:
    places = [finding.position for finding in findings if finding.position]
    files = Counter(place.path for place in places)
    if len(files) == 1:
        lines = sorted({place.line for place in places})
        yield f" in {places[0].path}"
        if lines[0] and len(lines) > 1:
            yield f", lines {lines[0]} to {lines[-1]}"
    elif files:
        named = [f"{path} ({number})" for path, number in files.most_common()]
        yield f" in {counted(len(files), 'file')}: {listed(named, _NAMED)}"
