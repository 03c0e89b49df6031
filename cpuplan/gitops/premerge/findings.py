"""Findings that a change brings in: those of the project before it are taken away."""

from collections import Counter
from collections.abc import Iterable

from cpuplan.diagnostics import Diagnostic

_Place = tuple[str, ...]


def brought_in(now: Iterable[Diagnostic], before: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The findings of `now` that `before` does not have, whatever lines they are in.

    A finding is the same if its code and its field are, or without a field its file and message.
    It is new where it concerns a class that it did not concern, or lost its waiver.
    """
    old = list(before)
    known = Counter(map(_place, old))
    waived = Counter(_place(finding) for finding in old if finding.waiver)
    classes: dict[_Place, set[str]] = {}
    for finding in old:
        classes.setdefault(_place(finding), set()).update(finding.classes)
    new = []
    for finding in now:
        place = _place(finding)
        allowed = known if finding.waiver else known - waived
        concerned = set(finding.classes) - classes.get(place, set())
        if allowed[place] and not (concerned and classes[place]):
            known[place] -= 1
            if finding.waiver and waived[place]:
                waived[place] -= 1
        else:
            new.append(finding)
    return new


def _place(finding: Diagnostic) -> _Place:
    """What stays of a finding when lines move, and numbers in its message change."""
    if finding.field:
        return finding.code, finding.field
    if finding.position is None:
        return finding.code, finding.message
    whole = not finding.position.line
    return (finding.code, finding.position.path, "" if whole else finding.message)
