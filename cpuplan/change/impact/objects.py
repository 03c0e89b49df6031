"""Objects of a cluster's API that come, change and go; a renamed one is told as such."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any, NamedTuple

from cpuplan.change.impact.earlier import Object, ObjectId

#: Keys that name an item of a list, so that a field's path does not depend on its place.
_NAMES = ("path", "name", "key")
#: Kinds that are their names: one that goes and one that comes are two, however alike.
_NEVER_RENAMED = frozenset({"Namespace", "Node"})


class How(Enum):
    """What becomes of an object or a file."""

    COMES = "comes"
    CHANGES = "changes"
    GOES = "goes"
    RENAMED = "renamed"


class ObjectChange(NamedTuple):
    """An object, what becomes of it, and its changed fields; of a renamed one its name before."""

    id: ObjectId
    how: How
    fields: tuple[str, ...] = ()
    was: str = ""


def changes(
    before: Mapping[ObjectId, Object], after: Mapping[ObjectId, Object]
) -> tuple[ObjectChange, ...]:
    """What becomes of the objects of a cluster, by kind and name."""
    gone = [before[each] for each in sorted(before.keys() - after.keys())]
    come = [after[each] for each in sorted(after.keys() - before.keys())]
    renamed = dict(_renamed(gone, come))
    found = [ObjectChange(new, How.RENAMED, was=old.name) for new, old in renamed.items()]
    found += [ObjectChange(each.id, How.COMES) for each in come if each.id not in renamed]
    left = set(renamed.values())
    found += [ObjectChange(each.id, How.GOES) for each in gone if each.id not in left]
    for each in sorted(before.keys() & after.keys()):
        fields = tuple(differing(before[each].data, after[each].data))
        if fields:
            found.append(ObjectChange(each, How.CHANGES, fields))
    return tuple(sorted(found, key=lambda change: (change.id.kind, *change.id)))


def _renamed(gone: Iterable[Object], come: Iterable[Object]) -> Iterator[tuple[ObjectId, ObjectId]]:
    """New objects and the gone ones that say the same but for their names."""
    left = list(gone)
    for new in come:
        same = next((old for old in left if _is_same(old, new)), None)
        if same:
            left.remove(same)
            yield new.id, same.id


def _is_same(old: Object, new: Object) -> bool:
    is_of_kind = old.id._replace(name="") == new.id._replace(name="")
    if not is_of_kind or new.id.kind in _NEVER_RENAMED:
        return False
    text, wanted = _text(old.data), _text(new.data)
    return any(_replaced(text, *names) == wanted for names in _names(old.id.name, new.id.name))


def _text(data: Mapping[str, Any]) -> str:
    return json.dumps(data, sort_keys=True)


def _replaced(text: str, old: str, new: str) -> str:
    """The text with another name, where that is a word of its own."""
    return re.sub(rf"(?<![A-Za-z0-9]){re.escape(old)}(?![A-Za-z0-9])", new, text)


def _names(old: str, new: str) -> Iterator[tuple[str, str]]:
    """Both names, and the words in which they differ: of `50-du` and `50-ran` `du` and `ran`."""
    yield old, new
    first, second = old.split("-"), new.split("-")
    while first and second and first[0] == second[0]:
        del first[0], second[0]
    while first and second and first[-1] == second[-1]:
        del first[-1], second[-1]
    if first and second:
        yield "-".join(first), "-".join(second)


def differing(before: Any, after: Any, at: str = "") -> Iterator[str]:
    """The paths of fields that differ: `spec.config.storage.files[/etc/crio/...].contents`."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            yield from differing(before.get(key), after.get(key), f"{at}.{key}" if at else key)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _of_lists(before, after, at)
    elif before != after:
        yield at


def _of_lists(before: list[Any], after: list[Any], at: str) -> Iterator[str]:
    old, new = _by_name(before), _by_name(after)
    if old is None or new is None:
        if before != after:
            yield at
        return
    for name in dict.fromkeys([*new, *old]):
        yield from differing(old.get(name), new.get(name), f"{at}[{name}]")
    if not old.keys() ^ new.keys() and list(old) != list(new):
        yield at


def _by_name(items: list[Any]) -> dict[str, Any] | None:
    """The items by what they are called; None where an item has no name, or two have one."""
    found = {}
    for item in items:
        name = _name_of(item)
        if name is None or name in found:
            return None
        found[name] = item
    return found


def _name_of(item: Any) -> str | None:
    if not isinstance(item, dict):
        return None
    return next((item[key] for key in _NAMES if isinstance(item.get(key), str)), None)
