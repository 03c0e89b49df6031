"""The types that fields of JSON of servers must have, so that their reader can count on them.

A shape says which types the fields that are read must have; what it does not name may be anything,
and null is as good as nothing, as in Go: no schema of documents that cpuplan writes (`fits`).
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

#: The way to a value: keys and indexes from the top.
Place: TypeAlias = tuple[str | int, ...]
_MAX_SHOWN = 40
#: Of a number in Go's int64.
_LARGEST = 1 << 63


class Scalar(NamedTuple):
    """A type of single values."""

    name: str
    fits: Callable[[Any], bool]


class Entries(NamedTuple):
    """A mapping whose keys may be anything."""

    of: "Shape"


class Items(NamedTuple):
    """A list; without `with_nulls`, null is no item of it."""

    of: "Shape"
    with_nulls: bool = False


#: A mapping of names to shapes is one with these fields.
Shape: TypeAlias = Scalar | Entries | Items | Mapping[str, "Shape"]


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _LARGEST


TEXT = Scalar("a text", lambda value: isinstance(value, str))
WHOLE = Scalar("a whole number", _is_whole)
FLAG = Scalar("true or false", lambda value: isinstance(value, bool))
#: A quantity: YAML and JSON have it with quotes or without.
AMOUNT = Scalar(
    "a text or a whole number", lambda value: isinstance(value, str) or _is_whole(value)
)
TEXTS = Entries(TEXT)
#: Any mapping, or any list.
MAPPING: Shape = {}


def misfit(value: Any, shape: Shape) -> tuple[Place, str] | None:
    """The first value that has not the type that its shape says: its place, and what is wrong."""
    return next(_misfits(value, shape, ()), None)


def _misfits(value: Any, shape: Shape, place: Place) -> Iterator[tuple[Place, str]]:
    if value is None:
        return
    if isinstance(shape, Scalar):
        if not shape.fits(value):
            yield place, f"{shown(value)}, and no {shape.name.removeprefix('a ')}"
    elif isinstance(shape, Items):
        if not isinstance(value, list):
            yield place, f"{shown(value)}, and no list"
            return
        for index, item in enumerate(value):
            if item is None and not shape.with_nulls:
                yield (*place, index), "null"
            yield from _misfits(item, shape.of, (*place, index))
    elif not isinstance(value, dict):
        yield place, f"{shown(value)}, and no mapping"
    elif isinstance(shape, Entries):
        for key, item in value.items():
            yield from _misfits(item, shape.of, (*place, str(key)))
    else:
        for key, part in shape.items():
            yield from _misfits(value.get(key), part, (*place, key))


def shown(value: Any) -> str:
    """A value in a few words."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str):
        return "a text"
    if isinstance(value, bool | None):
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, int) and abs(value) > _LARGEST:
        return "a number out of range"
    return f"the number {str(value)[:_MAX_SHOWN]}"


def path_of(place: Place) -> str:
    """A place in a message: `items[3].metadata.name`."""
    text = ""
    for part in place:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text
