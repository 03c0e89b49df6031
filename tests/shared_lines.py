"""Texts of one kind: a layout with what most of them say, and what each says differently.

A line has a place: its head (`cpuManagerPolicy: `) below the heads of the lines that it is part of.
Blank lines belong to the next line. A layout lists the places of all texts, in their order:

      line       in every text that has the line above it and lists nothing else
    ? head...    only in texts that list it

and for a text are listed:

      line       what it has at this place, or a line above that shows where a place is
    - line       what it lacks, with all that is below
"""

import re
from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeAlias

#: Heads from the outermost on, each with the number of equal ones before it.
Place: TypeAlias = tuple[tuple[str, int], ...]

COMMON, VARYING, MISSING = "  ", "? ", "- "
_MARK = len(COMMON)
#: An item of a list is known by its first value, any other line by its key.
_HEAD = re.compile(r" *(?:- [^:=]*: [^,]*,?|[^:=]*(?:[:=] ?)?)")


def layout(texts: Sequence[str]) -> list[str]:
    """The layout of texts; what more than half of them say is common."""
    placed = [_places(_folded(text.splitlines())) for text in texts]
    lines = []
    for place in _order(placed):
        there = [text for text in placed if place[:-1] in text or len(place) == 1]
        line, times = Counter(text.get(place) for text in there).most_common(1)[0]
        if line is not None and times > len(there) / 2:
            lines.append(COMMON + line)
        else:
            first = next(text[place] for text in there if place in text)
            lines.append(VARYING + _without_value(first))
    return _unfolded(lines)


def differences(common: Sequence[str], text: str) -> list[str]:
    """What a text says differently from the layout `common`."""
    marked = _marked(common)
    own = _places(_folded(text.splitlines()))
    listed: dict[Place, str] = {}
    for changed in _changes(marked, own):
        for place in (*_context(changed), changed):
            listed[place] = COMMON + own[place] if place in own else MISSING + marked[place][_MARK:]
    return _unfolded(listed.values())


def _changes(common: Mapping[Place, str], own: Mapping[Place, str]) -> Iterator[Place]:
    """The places that must be listed for a text."""
    absent: set[Place] = set()
    for place, line in common.items():
        if place in own and COMMON + own[place] != line:
            yield place
        if place not in own:
            absent.add(place)
            if line.startswith(COMMON) and place[:-1] not in absent:
                yield place


def restored(common: Sequence[str], listed: Sequence[str]) -> str:
    """The text that says what is `listed` differently from the layout `common`."""
    own = _marked(listed)
    absent: set[Place] = set()
    lines = []
    for place, line in _marked(common).items():
        given = own.get(place, line)
        if place[:-1] not in absent and given.startswith(COMMON):
            lines.append(given[_MARK:])
        else:
            absent.add(place)
    return "".join(f"{line}\n" for line in lines)


def _places(lines: Iterable[str]) -> dict[Place, str]:
    """Lines by their places."""
    placed: dict[Place, str] = {}
    above: list[tuple[int, Place]] = [(-2, ())]
    for line in lines:
        depth = _depth(line)
        while above[-1][0] >= depth:
            above.pop()
        outer = above[-1][1]
        head = _head(line)
        number = 0
        while (*outer, (head, number)) in placed:
            number += 1
        place = (*outer, (head, number))
        placed[place] = line
        above.append((depth, place))
    return placed


def _depth(line: str) -> int:
    text = line.lstrip("\n ")
    depth = 4 * (len(line.lstrip("\n")) - len(text))
    if text.startswith("- "):
        return depth + 1  # an item is part of the key above, which may be indented as far
    if text.startswith("["):
        return depth - 1  # a section has the lines that follow, which are indented as far
    return depth


def _head(line: str) -> str:
    match = _HEAD.match(line.lstrip("\n"))
    return match[0] if match else line


def _without_value(line: str) -> str:
    blank = len(line) - len(line.lstrip("\n"))
    shown = line[:blank] + _head(line)
    return shown if shown == line else f"{shown}..."


def _order(placed: Iterable[Iterable[Place]]) -> list[Place]:
    """All places; those of a text in its order, unless two texts have unlike orders."""
    inner: defaultdict[Place, list[list[Place]]] = defaultdict(list)
    for places in placed:
        siblings: defaultdict[Place, list[Place]] = defaultdict(list)
        for place in places:
            siblings[place[:-1]].append(place)
        for outer, members in siblings.items():
            inner[outer].append(members)
    return list(_nested((), inner))


def _nested(outer: Place, inner: Mapping[Place, list[list[Place]]]) -> Iterator[Place]:
    for place in _merged(inner.get(outer, [])):
        yield place
        yield from _nested(place, inner)


def _merged(sequences: list[list[Place]]) -> Iterator[Place]:
    """The places of all sequences, each once and behind those that are before it in a sequence."""
    rest = [deque(places) for places in sequences]
    while any(rest):
        rest = [places for places in rest if places]
        behind = {place for places in rest for place in islice(places, 1, None)}
        firsts = [places[0] for places in rest]
        first = next((place for place in firsts if place not in behind), firsts[0])
        yield first
        for places in rest:
            if first in places:
                places.remove(first)


def _context(place: Place) -> Iterator[Place]:
    """The places that must be listed before a place, so that its lines are counted correctly."""
    for end, (head, number) in enumerate(place):
        yield from ((*place[:end], (head, before)) for before in range(number))
        if end < len(place) - 1:
            yield place[: end + 1]


def _marked(lines: Collection[str]) -> dict[Place, str]:
    """Lines with their marks, by place."""
    marks = [line[:_MARK].ljust(_MARK) for line in lines if line[_MARK:]]
    folded = _folded(line[_MARK:] for line in lines)
    placed = _places(folded)
    return {place: mark + placed[place] for mark, place in zip(marks, placed, strict=True)}


def _folded(lines: Iterable[str]) -> list[str]:
    """Lines, blank ones as line feeds before the next."""
    folded = []
    blank = ""
    for line in lines:
        if line:
            folded.append(blank + line)
        blank = "" if line else f"{blank}\n"
    return folded


def _unfolded(lines: Iterable[str]) -> list[str]:
    """Marked lines, each blank one with the mark of the next."""
    unfolded = []
    for line in lines:
        text = line[_MARK:]
        blank = len(text) - len(text.lstrip("\n"))
        unfolded += [line[:_MARK].rstrip()] * blank + [line[:_MARK] + text[blank:]]
    return unfolded
