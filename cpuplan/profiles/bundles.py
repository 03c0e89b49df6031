"""Objects inside other objects: the items of a List, and the profile in a ConfigMap."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from cpuplan.components.openshift.performanceprofile import KIND
from cpuplan.diagnostics import Diagnostic
from cpuplan.diagnostics.source import Mark, Marks, Source
from cpuplan.language.read import yaml

#: The key of a ConfigMap that a NodePool names in `spec.tuningConfig` (hypershift,
#: nodepool_controller.go).
TUNING = "tuning"
_BLOCK_HEADER = 4  # characters of a block scalar's head at most: `|2-` and one to spare


class Object(NamedTuple):
    """A single object; `hosted` if a ConfigMap contains it."""

    source: Source
    hosted: bool = False


def objects(sources: Iterable[Source], diagnostics: list[Diagnostic]) -> Iterator[Object]:
    """Each object, with those inside Lists (`oc get -o yaml`) and hosted ConfigMaps.

    Problems are added to `diagnostics`.
    """
    for source in sources:
        data: Any = source.data
        items = data.get("items")
        if str(data.get("kind")).endswith("List") and isinstance(items, list):
            parts = [
                source.part(("items", index))
                for index, item in enumerate(items)
                if isinstance(item, dict)
            ]
            yield from objects(parts, diagnostics)
            continue
        tuning = _tuning(data)
        if tuning:
            yield from _inside(source, tuning, diagnostics)
        else:
            yield Object(source)


def _tuning(data: Any) -> str | None:
    """The text of a ConfigMap that contains a profile."""
    texts = data.get("data") if data.get("kind") == "ConfigMap" else None
    text = texts.get(TUNING) if isinstance(texts, dict) else None
    return text if isinstance(text, str) and KIND in text else None


def _inside(source: Source, text: str, diagnostics: list[Diagnostic]) -> Iterator[Object]:
    """The objects of the text, with their places in the file.

    The place of a text in quotes is where it begins.
    """
    own = source.mark_of(("data", TUNING))
    sources, problems = yaml.parse(source.path, text)
    line, column, end = own.value
    is_block = "\n" in text and end - column < _BLOCK_HEADER
    indent = own.key[1] + 2

    def moved(place: tuple[int, int, int]) -> tuple[int, int, int]:
        if place[0] < 0 or not is_block:
            return own.value if place[0] >= 0 else place
        return (place[0] + line + 1, place[1] + indent, place[2] + indent)

    for problem in problems:
        at = problem.position
        if at is None:
            diagnostics.append(problem)
            continue
        row, start, stop = moved((at.line - 1, at.column - 1, max(at.end, at.column) - 1))
        place = at._replace(line=row + 1, column=start + 1, end=stop + 1)
        diagnostics.append(problem._replace(position=place, labels=()))
    for one in sources:
        marks: Marks = {}
        for container, places in one.marks.items():
            marks[container] = {
                key: Mark(moved(mark.key), moved(mark.value)) for key, mark in places.items()
            }
        beginning = moved((*one.start, one.start[1]))[:2]
        yield Object(Source(source.path, one.data, marks, beginning), hosted=True)
